import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@halting/core'
import { isAiSdkName } from '../settings/ai-sdk-name.ts'
import type { Fields } from '../settings/fields.ts'
import { restrictionsOf } from '../sandbox/sandbox-settings.ts'
import { readFileSync, statSync } from 'node:fs'
import { isInside } from '../files/paths.ts'
import { realPath } from '@halting/journal/files'
import { resolve } from 'node:path'

/** Something that a project would run, set or loosen. It takes effect if the folder is trusted. */
export interface Offer {
  /** The setting, by the name that a person would search for. */
  readonly setting: string
  /** What would run or be allowed, as shown in the question. */
  readonly text: string
  /** Whether the offer takes effect only after a trust question that named it. */
  readonly needsNaming: boolean
  /** A hash that is equal for equal content only: a later change by the project is not trusted. */
  readonly id: string
  /** The name of the server, if it is one. */
  readonly server?: string
}

/** Settings that a project can set only in a trusted folder, in addition to hooks, rules and variables. */
const singleSettings = [
  'apiKeyHelper',
  'statusLine',
  'model',
  'openaiApi',
  'toolProfile',
  'sandbox',
  'disableBypassPermissionsMode',
  'untilTries',
  'untilTimeout',
  'webSearch',
] as const

/** Settings that a project can never set: they could cost the person work, money or secrets, or outlive a run. */
export const ownOnly = [
  'modelPrices',
  // The setting loads a package that runs inside this program, with access to its keys and outside any sandbox.
  'aiSdk',
  'cleanupPeriodDays',
  // The setting sends every session to the place that it names.
  'sessionStore',
  'fileCheckpointingEnabled',
  'promptSuggestionEnabled',
  'hookSummaryEnabled',
  'smallModel',
  'background',
  'confineJudged',
  'tryReadOnly',
  'limitReminders',
  'verifyChanges',
  'onLimit',
  'pauseFor',
  'budgets',
  'disableAllHooks',
  'passEnvironment',
  'autoMemoryDirectory',
  'theme',
  'preferredNotifChannel',
] as const

/** Everything that a project's file would run or loosen. */
export function offersOf(fields: Fields, projectDirectory: string): readonly Offer[] {
  const { hooks = {}, allow = [], additionalDirectories = [], env = {}, defaultMode, mcpServers = {} } = fields
  const { until = [], protect = [] } = fields
  return [
    ...Object.entries(hooks).flatMap(([event, groups]) =>
      groups.flatMap(({ matcher, hooks: handlers }) =>
        handlers.map((handler) => hookOffer(event, matcher ?? '', handler, projectDirectory)),
      ),
    ),
    ...singleSettings
      .filter((name) => isOffered(name, fields))
      .map((name) => singleOffer(name, fields, projectDirectory)),
    ...until.map((command) => offer('until', command)),
    ...protect.map((glob) => offer('protect', glob)),
    ...allow.map((rule) => offer('permissions.allow', rule)),
    ...(defaultMode === undefined ? [] : [offer('permissions.defaultMode', defaultMode)]),
    ...additionalDirectories.map((path) => offer('permissions.additionalDirectories', path)),
    ...Object.entries(env).map(([name, value]) => envOffer(name, value)),
    ...Object.entries(mcpServers).map(([name, server]) => serverOffer(name, server)),
  ]
}

/** Restrictions of the sandbox need no trust. Whether the person has enabled a sandbox in other settings does not change what a project offers. */
function isOffered(name: (typeof singleSettings)[number], fields: Fields): boolean {
  const { sandbox } = fields
  if (name !== 'sandbox' || sandbox === undefined) return fields[name] !== undefined
  return !isDeepStrictEqual(restrictionsOf(sandbox, false), sandbox)
}

/** The sandbox settings that apply without trust. */
function restrictionsOnly({ sandbox }: Fields, isWantedAnyway: boolean): Pick<Fields, 'sandbox'> {
  const restrictions = sandbox === undefined ? {} : restrictionsOf(sandbox, isWantedAnyway)
  return Object.keys(restrictions).length === 0 ? {} : { sandbox: restrictions }
}

export interface TrustDecision {
  readonly lets: (offer: Offer) => boolean
  /** Whether the person has enabled the sandbox, whatever the project says. */
  readonly isSandboxed: boolean
  /** The folder of the scripts that its hooks name. */
  readonly projectDirectory: string
  /** Whether personal settings enable a server in every trusted project. */
  readonly letsServer: (name: string) => boolean
}

/** The effective part of a project's file: its deny and ask rules, and what `lets` accepts. */
export function trustedFields(
  fields: Fields,
  { lets, isSandboxed, projectDirectory, letsServer }: TrustDecision,
): Fields {
  const { deny, ask, redactSecrets, allow, additionalDirectories, env, hooks, defaultMode, mcpServers, others } = fields
  const { disabledMcpjsonServers, autoMemoryEnabled, autoDreamEnabled, until, protect, limits, waitForLimits } = fields
  const trustedUntil = until?.filter((command) => lets(offer('until', command)))
  const trustedServers = Object.entries(mcpServers ?? {}).filter(
    ([name, server]) => letsServer(name) || lets(serverOffer(name, server)),
  )
  const trustedHooks = Object.entries(hooks ?? {}).map(([event, groups]) => {
    const trustedGroups = groups.map((group) => ({
      ...group,
      hooks: group.hooks.filter((handler) => lets(hookOffer(event, group.matcher ?? '', handler, projectDirectory))),
    }))
    return [event, trustedGroups.filter((group) => group.hooks.length > 0)] as const
  })
  const trustedEnv = Object.entries(env ?? {}).filter(([name, value]) => lets(envOffer(name, value)))
  const trustedSingle = singleSettings.filter(
    (name) => fields[name] !== undefined && lets(singleOffer(name, fields, projectDirectory)),
  )
  return {
    ...(deny && { deny }),
    ...(ask && { ask }),
    // The value `true` restricts; `false` would loosen.
    ...(redactSecrets === true && { redactSecrets }),
    ...(autoMemoryEnabled === false && { autoMemoryEnabled }),
    ...(autoDreamEnabled === false && { autoDreamEnabled }),
    // Only lower limits apply, which is checked when the files are merged.
    ...(limits && { limits }),
    ...(waitForLimits !== undefined && { waitForLimits }),
    ...(trustedUntil !== undefined && trustedUntil.length > 0 && { until: trustedUntil }),
    ...(protect && { protect: protect.filter((glob) => lets(offer('protect', glob))) }),
    ...(allow && { allow: allow.filter((rule) => lets(offer('permissions.allow', rule))) }),
    ...(additionalDirectories && {
      additionalDirectories: additionalDirectories.filter((path) =>
        lets(offer('permissions.additionalDirectories', path)),
      ),
    }),
    ...(env && { env: Object.fromEntries(trustedEnv) }),
    ...(hooks && { hooks: Object.fromEntries(trustedHooks) }),
    ...(defaultMode !== undefined && lets(offer('permissions.defaultMode', defaultMode)) && { defaultMode }),
    ...(mcpServers && { mcpServers: Object.fromEntries(trustedServers) }),
    ...(disabledMcpjsonServers && { disabledMcpjsonServers }),
    ...restrictionsOnly(fields, isSandboxed),
    ...Object.fromEntries(trustedSingle.map((name) => [name, fields[name]])),
    others,
  }
}

function offer(setting: string, value: unknown): Offer {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Settings that remove all permission requests or confinement, or load a package. Trust in a folder covers them only
  // if the trust question showed them.
  const needsNaming =
    setting === 'sandbox' || value === 'bypassPermissions' || (setting === 'model' && isAiSdkName(text))
  return { setting, text, needsNaming, id: idOf([setting, value]) }
}

/** A command that prints a key, or a status line command, runs the content of its script, like a hook. */
function singleOffer(name: (typeof singleSettings)[number], fields: Fields, projectDirectory: string): Offer {
  const { apiKeyHelper, statusLine } = fields
  if (name === 'statusLine' && statusLine !== undefined) {
    const { type: _, command, ...rest } = statusLine
    const more = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`
    const scripts = namedScripts(command, projectDirectory)
    return { setting: name, needsNaming: false, ...withScripts(command + more, scripts, [name, statusLine]) }
  }
  const made = offer(name, fields[name])
  if (name !== 'apiKeyHelper' || apiKeyHelper === undefined) return made
  const scripts = namedScripts(apiKeyHelper, projectDirectory)
  return scripts.length === 0 ? made : { ...made, ...withScripts(made.text, scripts, [name, apiKeyHelper]) }
}

/** The id of a command together with the content of its scripts, which is part of what is trusted. Without scripts, the id is that of the command. */
function withScripts(
  text: string,
  scripts: readonly NamedScript[],
  value: readonly unknown[],
): Pick<Offer, 'text' | 'id'> {
  if (scripts.length === 0) return { text, id: idOf(value) }
  return {
    text: `${text} [as it is now: ${scripts.map(({ path }) => path).join(', ')}]`,
    id: idOf([...value, scripts.map(({ path, content }) => [path, content])]),
  }
}

function envOffer(name: string, value: string): Offer {
  return {
    setting: 'env',
    text: `${name}=${value}`,
    needsNaming: isDangerousVariable(name),
    id: idOf(['env', name, value]),
  }
}

/** A server runs a program, or receives data from the model, so its whole entry is shown. */
function serverOffer(name: string, server: JsonObject): Offer {
  const { command, args, url, type: _, ...rest } = server
  const words = [command, ...(Array.isArray(args) ? args : args === undefined ? [] : [args])]
  const runs = command === undefined ? [url] : words
  const shown = runs
    .filter((part) => part !== undefined)
    .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
  const others = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`
  return {
    setting: 'mcpServers',
    text: `${name}: ${shown.join(' ')}${others}`,
    needsNaming: false,
    id: idOf(['mcpServer', name, server]),
    server: name,
  }
}

function hookOffer(
  event: string,
  matcher: string,
  handler: NonNullable<Fields['hooks']>[string][number]['hooks'][number],
  projectDirectory: string,
): Offer {
  const { type, ...fields } = handler
  // Other fields can change the effect: a header may send a variable, `async` keeps a guard from deciding.
  const { command, url, prompt, statusMessage: _, ...more } = fields as { readonly [field: string]: unknown }
  const runs = String(command ?? url ?? prompt)
  const rest = Object.keys(more).length === 0 ? '' : ` ${JSON.stringify(more)}`
  const text = `${event}${matcher === '' ? '' : `(${matcher})`}: ${type === 'command' ? '' : `${type} `}${runs}${rest}`
  const scripts = handler.type === 'command' ? namedScripts(handler.command, projectDirectory) : []
  const { model } = more
  const needsNaming = typeof model === 'string' && isAiSdkName(model)
  return { setting: 'hooks', needsNaming, ...withScripts(text, scripts, ['hook', event, matcher, handler]) }
}

function idOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}

/** A script of the project that a command names. */
interface NamedScript {
  /** Relative to the project. */
  readonly path: string
  /** Hash of its content. */
  readonly content: string
}

const maxScripts = 50
const largestBytes = 4 * 1024 * 1024

/** The files inside a project that the words of a command name, as their content is what runs. Scripts that these run in turn are not checked. */
export function namedScripts(command: string, projectDirectory: string): readonly NamedScript[] {
  const root = realPath(projectDirectory)
  const found = new Map<string, NamedScript>()
  for (const word of wordsOf(command, projectDirectory).slice(0, 1_000)) {
    if (found.size >= maxScripts) break
    const real = realPath(resolve(projectDirectory, word))
    if (real === root || !isInside(real, root)) continue
    const content = hashOf(real)
    const path = real.slice(root.length + 1)
    if (content !== undefined) found.set(path, { path, content })
  }
  return [...found.values()]
}

function wordsOf(command: string, projectDirectory: string): readonly string[] {
  const filled = command.replaceAll(
    /\$(?:(?:CLAUDE|HALTING)_PROJECT_DIR\b|\{(?:CLAUDE|HALTING)_PROJECT_DIR\}|PWD\b|\{PWD\})/g,
    () => projectDirectory.replaceAll(' ', '\u0000'),
  )
  return filled
    .replaceAll(/["']/g, '')
    .split(/[\s;&|()<>=`]+/)
    .map((word) => word.replaceAll('\u0000', ' '))
    .filter((word) => word !== '' && !word.startsWith('~'))
}

/** Undefined for anything but a file. A file that cannot be read, or is too large for a script, is identified by its metadata. */
function hashOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return undefined
  if (found.size > largestBytes) return `size ${found.size} at ${found.mtimeMs}`
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 32)
  } catch {
    return 'unreadable'
  }
}

/**
 * Variables that a trusted project may set without having been named in a question: they affect only output and timing. Any other variable may make
 * a program run, load, fetch or send something (`PATH`, `NODE_OPTIONS`, `LD_PRELOAD`, a base URL, a proxy, `MAKEFLAGS` …), and no list of those can
 * be complete.
 */
const harmlessVariables: ReadonlySet<string> = new Set([
  'CI',
  'COLUMNS',
  'DEBUG',
  'FORCE_COLOR',
  'LANG',
  'LINES',
  'LOG_LEVEL',
  'NODE_ENV',
  'NO_COLOR',
  'RAILS_ENV',
  'RACK_ENV',
  'APP_ENV',
  'TZ',
  'BASH_DEFAULT_TIMEOUT_MS',
  'BASH_MAX_TIMEOUT_MS',
  'BASH_MAX_OUTPUT_LENGTH',
  'MCP_TIMEOUT',
  'MCP_TOOL_TIMEOUT',
])

/** Whether a project's variable takes effect only after a question that named it. */
function isDangerousVariable(name: string): boolean {
  return !harmlessVariables.has(name)
}
