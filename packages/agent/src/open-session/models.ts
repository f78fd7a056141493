import { readOptionFile } from './option-file.ts'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { Settings } from '@halting/policy/settings'
import type { Model, Prices, Thinking } from '@halting/core'
import {
  anthropic,
  commandCredentials,
  type CredentialSource,
  createPrices,
  isMessagesApiModel,
  keySourceOf,
  modelFromEnvironment,
  type ModelSettings,
  withRedactedStream,
} from '@halting/models'
import type { Script } from '@halting/models/scripted'
import { AiSdkModels, isBehindPackage, priceOverridesOf } from '../providers/ai-sdk-models.ts'
import { checkModelName, likelyTypo } from './model-names.ts'
import { modelSettingsOf } from './model-settings.ts'
import type { RunSettings } from './run-settings.ts'

/** The models of a run, their prices, and resources to release after the run. */
export interface Models {
  /** The model of the session. */
  readonly model: Model
  /** Replaces the model while its service is overloaded. */
  readonly fallbackModel?: Model
  /** Writes the summaries of compaction in place of the model. */
  readonly compactModel?: Model
  /** The model for work after a run, if one was named. */
  readonly smallModel?: Model
  /**
   * Creates another model by name.
   * @throws ConfigurationError if the model cannot be used
   */
  readonly modelNamed: (name: string) => Model
  /**
   * Checks a model name before it is used for a subagent.
   * @throws ConfigurationError for a name that no known service has.
   */
  readonly checkName?: (name: string) => void
  /** Prices of the models. */
  readonly prices: Prices
  /** The source of the API key, as `system/init` reports it. */
  readonly apiKeySource: string
  /** Whether the settings allow storing files before they are changed. */
  readonly keepsFiles: boolean
  /** Notes for the user about the settings of the models. */
  readonly warnings: readonly string[]
  /** The settings from which the models were chosen. */
  readonly loaded: RunSettings
  /** Releases the models' resources. */
  close(): Promise<void>
}

type ModelPorts = Pick<SessionPorts, 'cwd' | 'nameOf'>

/** Distinguishes accounts at a service. The secret is only for comparison and is never shown. */
export interface ModelAccount {
  /** Name of the service. */
  readonly service: string
  /** The secret of the account. */
  readonly secret: string
}

/** Wraps each model of a session. */
export type AroundModel = (model: Model, account: ModelAccount) => Model

/**
 * Creates the models of a session.
 * @throws ConfigurationError for a model that cannot be used, and for invalid settings or scripts.
 */
export async function openModels(run: RunSettings, ports: ModelPorts, aroundModel?: AroundModel): Promise<Models> {
  const { settings, env, choices } = run
  // Every frontend shows replies while they arrive.
  const around: AroundModel = (model, account) => withRedactedStream(aroundModel?.(model, account) ?? model, env)
  const loaded = loadedFor(run, ports)
  if (choices.script !== undefined)
    return { ...(await scriptedModels(choices.script, choices, ports, around)), ...loaded }
  checkNames(run)
  const packages = new AiSdkModels({ settings, env, cwd: ports.cwd, thinking: thinkingOf(choices) })
  // Reports errors of a package before anything is opened.
  for (const name of namesIn(choices, env)) if (packages.has(name)) await packages.load(name)
  const credentials = helperOf(settings, env)
  const isHelped = credentials !== undefined && isMessagesApiModel(choices.model, env)
  const apiKeySource = isHelped ? 'apiKeyHelper' : keySourceOf(choices.model, env)
  const { anthropic: ofSettings, openai } = modelSettingsOf(run)
  const services = { anthropic: { ...ofSettings, credentials }, openai }
  const models = environmentModels(run, services, packages, (model, name) =>
    around(model, name !== undefined && packages.has(name) ? packages.accountOf(name) : accountOf(name, env, settings)),
  )
  return { ...models, ...loaded, apiKeySource, close: async () => undefined }
}

/** Returns the same models for inspection only: they are not called, so no key is needed. */
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
 * Checks whether the model can be used, before anything is opened. Provider packages are located but not loaded.
 * @throws like `openModels`, for example if a key is missing
 */
export function checkModel(run: ModelRun, { cwd }: Pick<SessionPorts, 'cwd'>): void {
  const { choices, env } = run
  if (choices.script !== undefined) return
  checkNames(run)
  checkAskable(mainModel(choices, env), run, cwd)
}

/**
 * Checks whether the model with this name can be used, as far as is known without a request.
 * @throws ConfigurationError
 */
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

/** Returns the name of the main model; undefined for the default model. */
function mainModel({ model }: SessionChoices, env: SessionPorts['env']): string | undefined {
  return model ?? (env['ANTHROPIC_MODEL']?.trim() || undefined)
}

/** Names of models in choices and environment. */
function namesIn(choices: SessionChoices, env: SessionPorts['env']): readonly string[] {
  const { fallbackModel, compactModel, smallModel } = choices
  const names = [mainModel(choices, env), fallbackModel, compactModel, smallModel].filter((name) => name !== undefined)
  return [...new Set(names)]
}

/** Returns warnings about probable typos in a name. The name is used as written anyway, because new models appear. */
function typoWarnings(
  { model, fallbackModel, compactModel, smallModel }: SessionChoices,
  settings: Settings,
): readonly string[] {
  return [model, fallbackModel, compactModel, smallModel].flatMap((name) => {
    const suggestion = name === undefined || isBehindPackage(name, settings) ? undefined : likelyTypo(name)
    return suggestion === undefined
      ? []
      : [`Unknown model ${name} (did you mean ${suggestion}?). Sending it as written.`]
  })
}

type Loaded = Pick<Models, 'prices' | 'warnings' | 'loaded' | 'keepsFiles' | 'checkName'>

// Spec R-PROV-18b.
/** Returns a warning about a requested effort that does not reach the model. */
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
        ? [...warnings, ...typoWarnings(choices, settings), ...lostEffort(loaded, ports)]
        : warnings,
    prices,
  }
}

/** @throws ConfigurationError for a name of no known service. */
function checkNames({ choices, env, settings }: ModelRun): void {
  for (const name of namesIn(choices, env)) checkModelName(name, env, settings)
}

/**
 * Returns the key helper of the settings, if the environment has no key. The helper provides keys for the Messages
 * API.
 */
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

/** Returns the account of a model, identified by the variable of its key or by what replaces the key. */
function accountOf(name: string | undefined, env: SessionPorts['env'], { apiKeyHelper }: Settings): ModelAccount {
  const variable = keySourceOf(name, env)
  if (variable !== 'none')
    return {
      service: variable.replace(/_(?:API_KEY|AUTH_TOKEN)$/, '').toLowerCase(),
      secret: env[variable]?.trim() ?? '',
    }
  if (!isMessagesApiModel(name, env)) return { service: (name ?? '').split('/')[0] ?? '', secret: '' }
  return { service: 'anthropic', secret: apiKeyHelper ?? env['ANTHROPIC_CUSTOM_HEADERS'] ?? '' }
}

type NamedModels = Pick<Models, 'model' | 'fallbackModel' | 'compactModel' | 'smallModel' | 'modelNamed'>

/** The model, and others that the choices name. */
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

/** The thinking options of the choices, in the terms of each protocol. */
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

/** `--thinking` precedes a number of tokens, which alone also enables thinking. */
function thinkingOf({ thinking, maxThinkingTokens = 0 }: SessionChoices): Thinking | undefined {
  if (thinking === 'adaptive' || thinking === 'disabled') return { type: thinking }
  if (maxThinkingTokens > 0) return { type: 'enabled', budgetTokens: maxThinkingTokens }
  return thinking === 'enabled' ? { type: 'adaptive' } : undefined
}

/**
 * The script that a choice names.
 * @throws ConfigurationError for an unreadable file or an invalid script.
 */
export async function scriptGiven(path: string, { cwd, nameOf }: ModelPorts): Promise<Script> {
  const { parseScriptText } = await import('@halting/models/scripted')
  return parseScriptText(await readOptionFile(path, cwd, `${nameOf('script')} takes a file`), path)
}

/** Starts a local server for the Messages API that plays a script, and its model adapter. */
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
