import { givenFile } from './given-file.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { Settings } from '@halting/policy/settings'
import type { Model, Prices, Thinking } from '@halting/core'
import {
  anthropic,
  commandCredentials,
  type CredentialSource,
  createPrices,
  isOfMessagesApi,
  keySourceOf,
  modelFromEnvironment,
  type ModelSettings,
  withRedactedStream,
} from '@halting/models'
import type { Script } from '@halting/models/scripted'
import { AiSdkModels, isBehindPackage, priceOverridesOf } from '../providers/ai-sdk-models.ts'
import { checkModelName, slipOf } from './model-names.ts'
import { modelSettingsOf } from './model-settings.ts'
import type { RunSettings } from './run-settings.ts'

/** The models of a run, what they cost, and what has to be ended after it. */
export interface Models {
  /** The model of the session. */
  readonly model: Model
  /** Replaces the model while its service is overloaded. */
  readonly fallbackModel?: Model
  /** Writes summaries in place of the model. */
  readonly compactModel?: Model
  /** For what comes after a run, where one was named. */
  readonly smallModel?: Model
  /** Another one, by a name that people know. @throws ConfigurationError for one that cannot be asked */
  readonly modelNamed: (name: string) => Model
  /** Looks at a name before it is used for a subagent. @throws ConfigurationError for one that no known service has. */
  readonly checkName?: (name: string) => void
  /** What the models cost. */
  readonly prices: Prices
  /** Where the key comes from, as `system/init` tells it. */
  readonly apiKeySource: string
  /** What files were is kept before they are changed, as far as settings say. */
  readonly keepsFiles: boolean
  /** What the person should know of their settings. */
  readonly warnings: readonly string[]
  /** The settings that the models were chosen by. */
  readonly loaded: RunSettings
  /** Releases what the models hold open. */
  close(): Promise<void>
}

type ModelPorts = Pick<SessionPorts, 'cwd' | 'nameOf'>

/** What tells one account at a service from another. The secret is for comparing, and never shown. */
export interface ModelAccount {
  /** Name of the service. */
  readonly service: string
  /** The secret of the account. */
  readonly secret: string
}

/** Puts something around each model of a session, whichever it is. */
export type AroundModel = (model: Model, account: ModelAccount) => Model

/** Makes the models of a session. @throws ConfigurationError for a model that cannot be asked, and for settings or a script that are not right. */
export async function openModels(run: RunSettings, ports: ModelPorts, aroundModel?: AroundModel): Promise<Models> {
  const { settings, env, choices } = run
  // Every frontend shows replies while they arrive.
  const around: AroundModel = (model, account) => withRedactedStream(aroundModel?.(model, account) ?? model, env)
  const loaded = loadedFor(run, ports)
  if (choices.script !== undefined)
    return { ...(await scriptedModels(choices.script, choices, ports, around)), ...loaded }
  checkNames(run)
  const packages = new AiSdkModels({ settings, env, cwd: ports.cwd, thinking: thinkingOf(choices) })
  // What is wrong with a package is reported before anything is opened.
  for (const name of namesIn(choices, env)) if (packages.has(name)) await packages.load(name)
  const credentials = helperOf(settings, env)
  const isHelped = credentials !== undefined && isOfMessagesApi(choices.model, env)
  const apiKeySource = isHelped ? 'apiKeyHelper' : keySourceOf(choices.model, env)
  const { anthropic: ofSettings, openai } = modelSettingsOf(run)
  const asked = { anthropic: { ...ofSettings, credentials }, openai }
  const models = environmentModels(run, asked, packages, (model, name) =>
    around(model, name !== undefined && packages.has(name) ? packages.accountOf(name) : accountOf(name, env, settings)),
  )
  return { ...models, ...loaded, apiKeySource, close: async () => undefined }
}

/** The same models for looking at only: nothing is asked of them, so no key is needed. */
export async function describeModels(run: RunSettings, ports: ModelPorts): Promise<Omit<Models, 'close'>> {
  const { choices, env, settings } = run
  const loaded = loadedFor(run, ports)
  if (choices.script === undefined) {
    checkNames(run)
    const packages = new AiSdkModels({ settings, env, cwd: ports.cwd, thinking: thinkingOf(choices) })
    const described = { apiKey: 'not-needed', ...modelSettingsOf(run) }
    return { ...environmentModels(run, described, packages), ...loaded, apiKeySource: 'none' }
  }
  const models = await scriptedModels(choices.script, choices, ports)
  await models.close()
  return { ...models, ...loaded }
}

type ModelRun = Pick<RunSettings, 'choices' | 'env' | 'settings'>

/**
 * Whether the model can be asked, before anything is opened. Packages of providers are found and not loaded.
 * @throws what `openModels` throws for it, such as a key that is missing
 */
export function checkModel(run: ModelRun, { cwd }: Pick<SessionPorts, 'cwd'>): void {
  const { choices, env } = run
  if (choices.script !== undefined) return
  checkNames(run)
  checkAskable(mainModel(choices, env), run, cwd)
}

/** Whether the model with this name can be asked, as far as one knows without asking. @throws ConfigurationError */
export function checkAskable(
  name: string | undefined,
  { env, settings }: Pick<RunSettings, 'env' | 'settings'>,
  cwd: string,
): void {
  if (name !== undefined && isBehindPackage(name, settings)) new AiSdkModels({ settings, env, cwd }).model(name)
  else {
    const { anthropic: ofSettings, openai } = modelSettingsOf({ settings, env })
    modelFromEnvironment(name, env, { anthropic: { ...ofSettings, credentials: helperOf(settings, env) }, openai })
  }
}

/** The name of the model that is asked first; undefined for the default. */
function mainModel({ model }: SessionChoices, env: SessionPorts['env']): string | undefined {
  return model ?? (env['ANTHROPIC_MODEL']?.trim() || undefined)
}

/** Names of models that choices and environment have. */
function namesIn(choices: SessionChoices, env: SessionPorts['env']): readonly string[] {
  const { fallbackModel, compactModel, smallModel } = choices
  const names = [mainModel(choices, env), fallbackModel, compactModel, smallModel].filter((name) => name !== undefined)
  return [...new Set(names)]
}

/** A name that is asked for all the same, since new models come. */
function slips(
  { model, fallbackModel, compactModel, smallModel }: SessionChoices,
  settings: Settings,
): readonly string[] {
  return [model, fallbackModel, compactModel, smallModel].flatMap((name) => {
    const meant = name === undefined || isBehindPackage(name, settings) ? undefined : slipOf(name)
    return meant === undefined ? [] : [`Unknown model ${name} (did you mean ${meant}?). Sending it as written.`]
  })
}

type Loaded = Pick<Models, 'prices' | 'warnings' | 'loaded' | 'keepsFiles' | 'checkName'>

// Spec R-PROV-18b.
/** An effort that somebody asked for, and that does not reach the model. */
function lostEffort({ choices, env, settings }: ModelRun, { nameOf }: ModelPorts): readonly string[] {
  const name = mainModel(choices, env)
  if (choices.effort === undefined || name === undefined || !isBehindPackage(name, settings)) return []
  return [
    `${nameOf('effort')} has no effect on ${name}, which uses a provider package. ` +
      'Set its effort in providerOptions of aiSdk in your settings.',
  ]
}

function loadedFor(loaded: RunSettings, ports: ModelPorts): Loaded {
  const { settings, warnings, choices } = loaded
  const prices = createPrices(priceOverridesOf(settings))
  const keepsFiles = settings.fileCheckpointingEnabled !== false
  return {
    loaded,
    checkName: (name) => checkModelName(name, loaded.env, settings),
    keepsFiles,
    warnings:
      choices.script === undefined
        ? [...warnings, ...slips(choices, settings), ...lostEffort(loaded, ports)]
        : warnings,
    prices,
  }
}

/** @throws ConfigurationError for a name of no known service. */
function checkNames({ choices, env, settings }: ModelRun): void {
  for (const name of namesIn(choices, env)) checkModelName(name, env, settings)
}

/** The key helper of the settings, where the environment has no key. It gives keys for the Messages API. */
export function helperOf({ apiKeyHelper }: Settings, env: SessionPorts['env']): CredentialSource | undefined {
  if (apiKeyHelper === undefined || keySourceOf('anthropic/any', env) !== 'none') return undefined
  const ttlMs = Number(env['CLAUDE_CODE_API_KEY_HELPER_TTL_MS'])
  return commandCredentials(apiKeyHelper, ttlMs > 0 ? { ttlMs } : {})
}

function environmentModels(
  { choices, env }: ModelRun,
  settings: ModelSettings,
  packages: AiSdkModels,
  around: (model: Model, name: string | undefined) => Model = (model) => model,
): NamedModels {
  const all = { ...settings, ...flagSettings(choices, settings) }
  const modelNamed = (name: string | undefined): Model => {
    const isBehind = name !== undefined && packages.has(name)
    return around(isBehind ? packages.model(name) : modelFromEnvironment(name, env, all), name)
  }
  return namedModels(choices, modelNamed(mainModel(choices, env)), modelNamed)
}

/** By the variable that its key is in, or what else stands for a key. */
function accountOf(name: string | undefined, env: SessionPorts['env'], { apiKeyHelper }: Settings): ModelAccount {
  const variable = keySourceOf(name, env)
  if (variable !== 'none')
    return {
      service: variable.replace(/_(?:API_KEY|AUTH_TOKEN)$/, '').toLowerCase(),
      secret: env[variable]?.trim() ?? '',
    }
  if (!isOfMessagesApi(name, env)) return { service: (name ?? '').split('/')[0] ?? '', secret: '' }
  return { service: 'anthropic', secret: apiKeyHelper ?? env['ANTHROPIC_CUSTOM_HEADERS'] ?? '' }
}

type NamedModels = Pick<Models, 'model' | 'fallbackModel' | 'compactModel' | 'smallModel' | 'modelNamed'>

/** The model, and those that choices name beside it. */
function namedModels(
  { fallbackModel, compactModel, smallModel }: SessionChoices,
  model: Model,
  modelNamed: (name: string) => Model,
): NamedModels {
  return {
    model,
    modelNamed,
    ...(fallbackModel !== undefined && { fallbackModel: modelNamed(fallbackModel) }),
    ...(compactModel !== undefined && { compactModel: modelNamed(compactModel) }),
    ...(smallModel !== undefined && { smallModel: modelNamed(smallModel) }),
  }
}

/** What choices say of how a model is to think, for each protocol in its own words. */
function flagSettings(
  choices: SessionChoices,
  { anthropic: own, openai }: ModelSettings,
): Pick<ModelSettings, 'anthropic' | 'openai'> {
  const { betas, effort, taskBudget } = choices
  const thinking = thinkingOf(choices)
  return {
    anthropic: {
      ...own,
      betas: taskBudget === undefined ? betas : [...new Set([...(betas ?? []), taskBudgetBeta])],
      thinking,
      effort,
      taskBudget,
    },
    openai: { ...openai, thinking, effort },
  }
}

const taskBudgetBeta = 'task-budgets-2026-03-13'

/** What `--thinking` says goes before a number of tokens, which alone says that it thinks. */
function thinkingOf({ thinking, maxThinkingTokens = 0 }: SessionChoices): Thinking | undefined {
  if (thinking === 'adaptive' || thinking === 'disabled') return { type: thinking }
  if (maxThinkingTokens > 0) return { type: 'enabled', budgetTokens: maxThinkingTokens }
  return thinking === 'enabled' ? { type: 'adaptive' } : undefined
}

/** The script that a choice names. @throws ConfigurationError for a file that cannot be read, and for a script that is not right. */
export async function scriptGiven(path: string, { cwd, nameOf }: ModelPorts): Promise<Script> {
  const { parseScriptText } = await import('@halting/models/scripted')
  return parseScriptText(await givenFile(path, cwd, `${nameOf('script')} takes a file`), path)
}

/** A server on this machine that speaks the Messages API, and the adapter for that API against it. */
async function scriptedModels(
  path: string,
  choices: SessionChoices,
  ports: ModelPorts,
  around: AroundModel = (model) => model,
): Promise<NamedModels & Pick<Models, 'apiKeySource' | 'close'>> {
  const { startScriptedServer } = await import('@halting/models/scripted')
  const script = await scriptGiven(path, ports)
  const server = await startScriptedServer(script, { source: path, variables: { cwd: ports.cwd } })
  const own = flagSettings(choices, {}).anthropic
  const modelNamed = (name: string): Model =>
    around(
      anthropic({
        ...own,
        model: name,
        baseUrl: server.url,
        apiKey: 'scripted',
        webSearch: script.webSearch === true,
      }),
      {
        service: 'scripted',
        secret: '',
      },
    )
  return {
    ...namedModels(choices, modelNamed(choices.model ?? script.model ?? 'scripted'), modelNamed),
    apiKeySource: 'none',
    close: () => server.close(),
  }
}
