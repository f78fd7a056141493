import { durationMs, isJsonObject, longestDurationMs, largestBudgetUsd, parseWaitMs } from '@halting/core/adapters'
import { isPostgresAddress } from '@halting/journal'
import * as z from 'zod'
import { permissionModes } from '../permissions/rule-book.ts'
import { isPackageName } from './ai-sdk-name.ts'
import { notificationChannels, toolProfiles } from './fields.ts'
import { hookEvents } from './hook-settings.ts'

// What a settings file may contain. Loaded only for files that need a check, as zod is large.

/** The message of a schema, which describes the expected value. */
function message(expected: string): { readonly error: string } {
  return { error: expected }
}

function nonEmptyText(expected: string): z.ZodType<string> {
  return z.string(message(expected)).refine((text) => text.trim() !== '', message(expected))
}

const truth = z.boolean(message('true or false'))
const textList = (expected: string): z.ZodType<string[]> =>
  z.array(nonEmptyText(expected), message(`a list, each entry ${expected}`))
const seconds = z.number(message('a number of seconds')).positive(message('a number of seconds above 0')).optional()

const scalar = z.union([z.string(), z.number(), z.boolean()], message('a string'))

const sandbox = z.looseObject(
  {
    enabled: truth.optional(),
    autoAllowBashIfSandboxed: truth.optional(),
    allowUnsandboxedCommands: truth.optional(),
    excludedCommands: textList('a command').optional(),
    network: z
      .looseObject(
        {
          allowedDomains: textList('a domain').optional(),
          deniedDomains: textList('a domain').optional(),
          allowAllUnixSockets: truth.optional(),
          allowManagedDomainsOnly: truth.optional(),
        },
        message('an object, such as {"allowedDomains": ["example.com"]}'),
      )
      .optional(),
    filesystem: z
      .looseObject(
        {
          allowWrite: textList('a path').optional(),
          denyWrite: textList('a path').optional(),
          denyRead: textList('a path').optional(),
          allowRead: textList('a path').optional(),
          allowManagedReadPathsOnly: truth.optional(),
        },
        message('an object, such as {"denyRead": ["~/work"]}'),
      )
      .optional(),
  },
  message('an object, such as {"enabled": true}'),
)

/** Known keys, by the object of `sandbox` that contains them, including keys of other programs that have no effect here. */
export const sandboxKeys: Readonly<Record<'sandbox' | 'network' | 'filesystem', readonly string[]>> = {
  sandbox: (
    'enabled autoAllowBashIfSandboxed excludedCommands network filesystem allowUnsandboxedCommands failIfUnavailable ' +
    'enableWeakerNestedSandbox enableWeakerNetworkIsolation ignoreViolations mandatoryDenySearchDepth ripgrep'
  ).split(' '),
  network: (
    'allowedDomains deniedDomains allowAllUnixSockets allowUnixSockets allowLocalBinding allowMachLookup httpProxyPort ' +
    'socksProxyPort allowManagedDomainsOnly'
  ).split(' '),
  filesystem: 'allowWrite denyWrite denyRead allowRead allowManagedReadPathsOnly'.split(' '),
}

const address = 'a URL that begins with http:// or https://'

const handler = z.discriminatedUnion(
  'type',
  [
    z.looseObject({
      type: z.literal('command'),
      command: nonEmptyText('a command (a string)'),
      timeout: seconds,
      async: truth.optional(),
      once: truth.optional(),
    }),
    z.looseObject({
      type: z.literal('http'),
      url: nonEmptyText(address).refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), message(address)),
      headers: z
        .record(z.string(), z.string(message('a string')), message('an object of strings by header name'))
        .optional(),
      timeout: seconds,
      once: truth.optional(),
    }),
    z.looseObject({
      type: z.literal('prompt'),
      prompt: nonEmptyText('a prompt (a string)'),
      model: nonEmptyText('the name of a model').optional(),
      timeout: seconds,
      once: truth.optional(),
    }),
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'command, http or prompt' : 'an object with a type: command, http or prompt',
  },
)

export const hookGroupSchema: z.ZodType = z.looseObject(
  {
    matcher: z
      .string(message('a string'))
      .refine(isPattern, message('tool names, such as Edit|Write, or a regular expression'))
      .optional(),
    hooks: z.array(handler, message('a list, such as [{"type": "command", "command": "…"}]')),
  },
  message('an object with hooks: {"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}'),
)

function isPattern(text: string): boolean {
  if (text === '*' || /^[\w\- ,|]*$/.test(text)) return true
  try {
    return RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

/** Whether these variables can be set: no program can be started with any other names and values. */
function canBeSet(env: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(env).every(([name, value]) => /^[^=\0]+$/.test(name) && !String(value).includes('\0'))
}

/** Known keys of a hook, by its type, and of a hook group. */
export const hookKeys: Readonly<Record<'group' | 'command' | 'http' | 'prompt', readonly string[]>> = {
  group: ['matcher', 'hooks'],
  command: 'type command timeout async once statusMessage'.split(' '),
  http: 'type url headers allowedEnvVars timeout async once statusMessage'.split(' '),
  prompt: 'type prompt timeout async once statusMessage'.split(' '),
}

export const knownHookEvents: readonly string[] = hookEvents

interface Field {
  readonly schema: z.ZodType
  /** The effect of a wrong value. `stop`: nothing runs without a restriction, a limit or a setting that preserves data. */
  readonly whenWrong: 'stop' | 'pass over'
}

const stop = (schema: z.ZodType): Field => ({ schema, whenWrong: 'stop' })
const passOver = (schema: z.ZodType): Field => ({ schema, whenWrong: 'pass over' })
const ownPlace = 'a path that begins with / or ~/'
const storeMessage =
  'sqlite: and a path that begins with / or ~/, an address such as postgres://user@host/database, or files'
const storeForm = /^(?:files|sqlite:(?:~\/|\/|[A-Za-z]:[\\/]).+)$/
const days = 'a whole number of days, at least 1, after which unused sessions are removed (3650 keeps them)'

const noLimit = ', or null for no limit'
const wholeNumber = `a whole number of at least 1${noLimit}`
const wholeLimit = z.int(message(wholeNumber)).min(1, message(wholeNumber)).nullable().optional()
const money = `a number of US dollars above 0${noLimit}`
const dollars = z.number(message(money)).positive(message(money)).nullable().optional()
const time = `a duration of at most 24 days, such as 90s, 10m or 1h30m${noLimit}`

/** Unknown names in `limits` are checked before this schema. */
const limits = z.looseObject(
  {
    maxTurns: wholeLimit,
    maxRunUsd: dollars,
    maxBudgetUsd: dollars,
    maxTokens: wholeLimit,
    maxDuration: z.string(message(time)).refine(isRunTime, message(time)).nullable().optional(),
    maxToolCalls: wholeLimit,
  },
  message('an object, such as {"maxRunUsd": 5}'),
)

function isRunTime(text: string): boolean {
  const milliseconds = durationMs(text) ?? 0
  return milliseconds > 0 && milliseconds <= longestDurationMs
}

const search = 'auto, service, off, or {"mcp": "server/tool"}'

function isWebSearch(given: unknown): boolean {
  if (!isJsonObject(given)) return ['auto', 'service', 'off'].includes(String(given)) && typeof given === 'string'
  const { mcp, ...others } = given
  return typeof mcp === 'string' && /^[^/]+\/.+$/.test(mcp) && Object.keys(others).length === 0
}

const triesMessage = 'a whole number from 1 to 1000 (how often an answer is sent back while a goal is not met)'
const columns = 'a whole number of columns from 0 to 100'
const refresh = 'a refresh interval of 1 to 86400 seconds'
const wait = 'a duration of at most 31 days (744h), such as 8h, or none'
const duration = 'a duration, such as 90s, 10m or 1h'

/** Keys of Claude Code that neither loosen nor restrict: existing files have them, and a warning in every run would help nobody. */
const foreignKeys = (
  'alwaysThinkingEnabled attribution autoUpdatesChannel availableModels awsAuthRefresh awsCredentialExport ' +
  'companyAnnouncements effortLevel enabledPlugins extraKnownMarketplaces feedbackSurveyState fileSuggestion forceLoginMethod ' +
  'forceLoginOrgUUID language otelHeadersHelper plansDirectory prefersReducedMotion respectGitignore showTurnDuration ' +
  'skipDangerousModePermissionPrompt spinnerTipsEnabled spinnerTipsOverride spinnerVerbs teammateMode terminalProgressBarEnabled'
).split(' ')

const openAiApis = ['responses', 'chat_completions'] as const

const budgetDollars = `a number of US dollars above 0, and at most ${largestBudgetUsd}`
const budgetKeys = 'an object with only per, usd, model and folder, such as {"per": "day", "usd": 20}'

const budgets = z.array(
  z.strictObject(
    {
      per: z.enum(['day', 'month'], message('day or month')),
      usd: z
        .number(message(budgetDollars))
        .positive(message(budgetDollars))
        .max(largestBudgetUsd, message(budgetDollars)),
      model: nonEmptyText('the id of a model, such as claude-opus-*').optional(),
      folder: z
        .string(message(ownPlace))
        .refine((path) => /^(?:\/|~(?:\/|$))/.test(path), message(ownPlace))
        .optional(),
    },
    message(budgetKeys),
  ),
  message('a list, such as [{"per": "day", "usd": 20}]'),
)

const tokens = 'a whole number of tokens, at least 1'
const uses = 'a whole number of uses, at least 0'
const packageName = 'the name of an npm package, such as @ai-sdk/amazon-bedrock (not a path or URL)'
const subpath = 'a subpath of the package, such as anthropic'
const identifier = 'the name of an export, such as createAmazonBedrock'
const alias = 'an object of models by name (letters, digits, dots, dashes, underscores)'
const object = z.record(z.string(), z.unknown(), message('an object'))

const aiSdkPackage = {
  entry: z
    .string(message(subpath))
    .refine((text) => /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(text), message(subpath))
    .optional(),
  factory: z
    .string(message(identifier))
    .refine((text) => /^[\w$]+$/.test(text), message(identifier))
    .optional(),
  options: object.optional(),
  providerOptions: z.record(z.string(), object, message('an object of options by provider name')).optional(),
  folder: nonEmptyText('a path').optional(),
}
const packageKeys = 'an object with only entry, factory, options, providerOptions and folder'
const modelKeys =
  'an object with only package, model, entry, factory, options, providerOptions, folder, contextWindow, maxOutputTokens, maxServerToolUses and price'

const aiSdk = z.strictObject(
  {
    folder: nonEmptyText('a path').optional(),
    packages: z
      .record(
        z.string().refine(isPackageName, message(packageName)),
        z.strictObject(aiSdkPackage, message(packageKeys)),
        {
          error: ({ code }) => (code === 'invalid_key' ? `an object by ${packageName}` : 'an object by package'),
        },
      )
      .optional(),
    models: z
      .record(
        z.string().refine((name) => /^[A-Za-z\d][\w.-]{0,99}$/.test(name), message(alias)),
        z.strictObject(
          {
            ...aiSdkPackage,
            package: z.string(message(packageName)).refine(isPackageName, message(packageName)),
            model: nonEmptyText('the name of a model, as the provider knows it'),
            contextWindow: z.int(message(tokens)).min(1, message(tokens)).optional(),
            maxOutputTokens: z.int(message(tokens)).min(1, message(tokens)).optional(),
            maxServerToolUses: z.int(message(uses)).min(0, message(uses)).optional(),
            price: z.looseObject({}, message('an object of prices, such as {"input": 3, "output": 15}')).optional(),
          },
          message(modelKeys),
        ),
        message(alias),
      )
      .optional(),
  },
  message('an object with only folder, packages and models'),
)

/** Fields by name; those of `permissions` with that prefix. */
export const fieldTable: Readonly<Record<string, Field>> = {
  apiKeyHelper: passOver(nonEmptyText('a command (a string)')),
  modelPrices: stop(
    z.record(z.string(), z.looseObject({}, message('an object of prices')), message('an object of prices by model ID')),
  ),
  cleanupPeriodDays: stop(z.int(message(days)).min(1, message(days))),
  sessionStore: stop(
    z
      .string(message(storeMessage))
      .refine((text) => storeForm.test(text) || isPostgresAddress(text), message(storeMessage)),
  ),
  redactSecrets: stop(truth),
  fileCheckpointingEnabled: stop(truth),
  promptSuggestionEnabled: passOver(truth),
  hookSummaryEnabled: passOver(truth),
  smallModel: passOver(nonEmptyText('the name of a model')),
  autoMemoryEnabled: passOver(truth),
  autoDreamEnabled: passOver(truth),
  autoMemoryDirectory: passOver(
    z.string(message(ownPlace)).refine((path) => /^(?:\/|~\/)/.test(path), message(ownPlace)),
  ),
  background: stop(z.enum(['wait', 'stop', 'keep'], message('one of wait, stop, keep'))),
  confineJudged: stop(z.enum(['auto', 'off'], message('one of auto, off'))),
  tryReadOnly: stop(truth),
  until: stop(textList('a command')),
  untilTries: stop(z.int(message(triesMessage)).min(1, message(triesMessage)).max(1_000, message(triesMessage))),
  untilTimeout: stop(z.string(message(duration)).refine((text) => (durationMs(text) ?? 0) > 0, message(duration))),
  protect: stop(textList('a glob, such as tests/**')),
  limits: stop(limits),
  budgets: stop(budgets),
  limitReminders: passOver(truth),
  verifyChanges: passOver(z.enum(['ask', 'tell', 'off'], message('one of ask, tell, off'))),
  onLimit: stop(z.enum(['end', 'pause'], message('one of end, pause'))),
  pauseFor: stop(z.string(message(duration)).refine((text) => (durationMs(text) ?? 0) > 0, message(duration))),
  waitForLimits: stop(z.string(message(wait)).refine((text) => parseWaitMs(text) !== undefined, message(wait))),
  webSearch: stop(z.unknown().refine(isWebSearch, message(search))),
  disableAllHooks: stop(truth),
  allowManagedHooksOnly: passOver(truth),
  allowManagedPermissionRulesOnly: passOver(truth),
  allowManagedProvidersOnly: passOver(truth),
  aiSdk: stop(aiSdk),
  sandbox: stop(sandbox),
  env: passOver(
    z
      .record(z.string(), scalar, message('an object of strings by variable name'))
      .refine(canBeSet, message('an object of strings by variable name, without = in a name and without NUL')),
  ),
  passEnvironment: passOver(textList('the name of a variable')),
  model: passOver(nonEmptyText('the name of a model')),
  openaiApi: passOver(z.enum(openAiApis, message(`one of ${openAiApis.join(', ')}`))),
  toolProfile: stop(z.enum(toolProfiles, message(`one of ${toolProfiles.join(', ')}`))),
  // Other programs have themes with other names, so an unknown name is ignored.
  theme: passOver(nonEmptyText('dark, light or none')),
  preferredNotifChannel: passOver(z.enum(notificationChannels, message(`one of ${notificationChannels.join(', ')}`))),
  statusLine: passOver(
    z.looseObject(
      {
        type: z.literal('command', message('command')),
        command: nonEmptyText('a command (a string)'),
        padding: z.int(message(columns)).min(0, message(columns)).max(100, message(columns)).optional(),
        refreshInterval: z.number(message(refresh)).min(1, message(refresh)).max(86_400, message(refresh)).optional(),
      },
      message('an object, such as {"type": "command", "command": "…"}'),
    ),
  ),
  mcpServers: passOver(
    z.record(
      z.string(),
      z.looseObject({}, message('an object, such as {"command": "npx", "args": ["-y", "a-server"]}')),
      message('an object of servers by name'),
    ),
  ),
  includeCoAuthoredBy: passOver(truth),
  enableAllProjectMcpServers: passOver(truth),
  enabledMcpjsonServers: passOver(textList('the name of a server')),
  disabledMcpjsonServers: stop(textList('the name of a server')),
  outputStyle: passOver(nonEmptyText('the name of a style')),
  ...Object.fromEntries(foreignKeys.map((name) => [name, passOver(z.unknown())])),
  'permissions.allow': passOver(textList('a rule, such as Bash(npm test)')),
  'permissions.deny': stop(textList('a rule, such as Read(./.env)')),
  'permissions.ask': stop(textList('a rule, such as Bash(git push *)')),
  'permissions.defaultMode': stop(z.enum(permissionModes, message(`one of ${permissionModes.join(', ')}`))),
  'permissions.additionalDirectories': passOver(textList('a path')),
  'permissions.disableBypassPermissionsMode': stop(
    z.union([z.literal('disable'), z.boolean()], message('"disable", or omitted')),
  ),
}
