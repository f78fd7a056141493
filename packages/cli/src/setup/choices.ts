import type { SettingsValue } from '@halting/policy/settings'
import { ConfigurationError } from '@halting/core'
import { withoutAlias } from '@halting/models'
import { counted } from '../io/figures.ts'
import { checkAskable, checkModelName } from '@halting/agent/session-settings'
import { answersToAnyName, isListed } from './listed-models.ts'
import { priceOfModel } from './model-prices.ts'
import type { RunSettings } from '../flags/session-ports.ts'
import { UsageError } from '../usage-error.ts'
import type { KeyFinding } from './keys.ts'
import type { LocalFinding } from './local-models.ts'
import type { AgentFinding } from './other-agents.ts'

/** A model that runs could use. */
export interface ModelChoice {
  readonly model: string
  readonly because: string
  /** Settings to write for it; empty if it is in use already. */
  readonly values: readonly SettingsValue[]
}

export interface SetupFindings {
  readonly keys: readonly KeyFinding[]
  readonly local: readonly LocalFinding[]
  readonly agents: readonly AgentFinding[]
}

/** The model that runs use now, and whether it works. */
export interface CurrentModel {
  readonly model: string
  readonly from: string
  /** Why no run can start with it. */
  readonly problem?: string
}

/** Models that can be used, best first: the current one, those of other agents, one per key, those on this machine. */
export function modelChoices(
  found: SetupFindings,
  current: CurrentModel,
  run: RunSettings,
  cwd: string,
): readonly ModelChoice[] {
  const { keys, local, agents } = found
  const { settings } = run
  const now = current.problem === undefined ? [choice(current.model, `in use now: ${current.from}`, [])] : []
  const ofAgents = agents.flatMap(({ agent, model }) =>
    model === undefined ? [] : [choice(model, `used by ${agent}`, modelSettingsValues(model, settings, local))],
  )
  const ofKeys = keys.flatMap(({ variable, model }) =>
    model === undefined
      ? []
      : [choice(model, `with the key in ${variable}`, modelSettingsValues(model, settings, local))],
  )
  const here = local.flatMap(({ service, title, probed }) =>
    probed.kind !== 'answers'
      ? []
      : probed.models.map(({ name, contextWindow }) => {
          const window = contextWindow === undefined ? '' : `, a window of ${counted(contextWindow)} tokens`
          const model = `${service}/${name}`
          return choice(model, `${title} on this machine${window}`, modelSettingsValues(model, settings, local))
        }),
  )
  const seen = new Set<string>()
  return [...now, ...ofAgents, ...ofKeys, ...here].filter(({ model }) => {
    if (seen.has(model)) return false
    seen.add(model)
    return modelProblem(model, run, local, cwd) === undefined
  })
}

function choice(model: string, because: string, values: ModelChoice['values']): ModelChoice {
  return { model, because, values }
}

/** The choice of the model that the user named. @throws UsageError if it cannot be used */
export function namedChoice(
  name: string,
  { local }: SetupFindings,
  current: CurrentModel,
  run: RunSettings,
  cwd: string,
): ModelChoice {
  const model = withoutAlias(name)
  const problem = modelProblem(model, run, local, cwd)
  if (problem !== undefined) throw new UsageError(problem)
  return choice(
    model,
    'your choice',
    model === current.model && current.from !== 'ANTHROPIC_MODEL'
      ? []
      : modelSettingsValues(model, run.settings, local),
  )
}

/** Why this model cannot be used; undefined if no problem is known without contacting it. */
export function modelProblem(
  model: string,
  { env, settings }: Pick<RunSettings, 'env' | 'settings'>,
  local: readonly LocalFinding[],
  cwd: string,
): string | undefined {
  try {
    checkModelName(model, env, settings)
    checkAskable(model, { env, settings }, cwd)
  } catch (thrown) {
    if (thrown instanceof UsageError || thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
  const server = serverFor(model, local)
  if (server?.probed.kind === 'answers') return missingModelText(model, server, server.probed)
  // A server that was not contacted, or lists models only with a key, may have it.
  if (server?.probed.kind !== 'absent' && server?.probed.kind !== 'unfit') return undefined
  return `${model} is not available: ${server.title} does not respond at ${server.address}. Start it, or set its address with ${server.variable}.`
}

function missingModelText(
  model: string,
  { service, title, address }: LocalFinding,
  { models, left }: Extract<LocalFinding['probed'], { readonly kind: 'answers' }>,
): string | undefined {
  const names = models.map(({ name }) => name)
  // The list is incomplete, so a model that is not in it may exist.
  if (left > 0 || answersToAnyName(model) || isListed(model.slice(service.length + 1), names)) return undefined
  const others = names.slice(0, 5).map((name) => `${service}/${name}`)
  const has = others.length === 0 ? 'it has no models' : `it has ${others.join(', ')}${names.length > 5 ? ' …' : ''}`
  return `${title} at ${address} has no model ${model.slice(service.length + 1)}: ${has}. Download the model there, or choose another with --model.`
}

function serverFor(model: string, local: readonly LocalFinding[]): LocalFinding | undefined {
  return local.find(({ service }) => model.startsWith(`${service}/`))
}

/** Settings that select the model. A local model gets the price 0, since budgets need a price. */
function modelSettingsValues(
  model: string,
  settings: RunSettings['settings'],
  local: readonly LocalFinding[],
): readonly SettingsValue[] {
  const isHere = serverFor(model, local)?.probed.kind === 'answers'
  const hasPrice = priceOfModel(model, settings) !== undefined
  return [
    { path: ['model'], value: model },
    ...(isHere && !hasPrice ? [{ path: ['modelPrices', model], value: { input: 0, output: 0 } }] : []),
  ]
}
