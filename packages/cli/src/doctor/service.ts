import type { Settings } from '@halting/policy/settings'
import { messageOf } from '@halting/core/adapters'
import {
  contextWindowOf,
  defaultModelName,
  isMessagesApiModel,
  keySourceOf,
  keyVariablesOf,
  modelFromEnvironment,
  type ModelService,
  serviceFromEnvironment,
  withoutAlias,
} from '@halting/models'
import { flagOf } from '../flags/session-ports.ts'
import { counted } from '../io/figures.ts'
import {
  AiSdkModels,
  checkModelName,
  helperOf,
  isBehindPackage,
  listedAliases,
  modelOf,
  nearestModel,
  modelSettingsOf,
  scriptGiven,
} from '@halting/agent/session-settings'
import { answersToAnyName, isListed } from '../setup/listed-models.ts'
import { priceOfModel } from '../setup/model-prices.ts'
import type { Finding, DoctorContext } from './finding.ts'

/** Time that the service has to return its list of models, in milliseconds. */
const timeoutMs = 10_000

/** Findings about the model, its key, its service and the proxy. */
export async function serviceFindings(context: DoctorContext, settings: Settings): Promise<readonly Finding[]> {
  const { flags, env } = context
  if (flags.script !== undefined) {
    return [await scriptFinding(flags.script, context)]
  }
  const name = withoutAlias(
    flags.model ?? (env['ANTHROPIC_MODEL']?.trim() || modelOf(settings, env) || defaultModelName),
  )
  let service: ModelService
  try {
    checkModelName(name, env, settings)
    if (isBehindPackage(name, settings)) return await packageFindings(name, context, settings)
    const credentials = helperOf(settings, env)
    service = serviceFromEnvironment(name, env, { anthropic: { credentials } })
    // A missing key is reported as a separate finding.
    modelFromEnvironment(name, env, { apiKey: 'not-needed', ...modelSettingsOf({ settings, env }) })
  } catch (thrown) {
    return [{ what: 'model', state: 'broken', says: messageOf(thrown) }]
  }
  const key = keyFinding(name, service, context, settings)
  const found = [modelFinding(name, context, settings), key, ...proxyFindings(service)]
  return [...found, ...(await answerFindings(name, service, key))]
}

/** For a model of a provider package, loads the package but does not contact its service. */
async function packageFindings(name: string, context: DoctorContext, settings: Settings): Promise<readonly Finding[]> {
  const { env, cwd } = context
  const model = await new AiSdkModels({ settings, env, cwd }).load(name)
  const behind = listedAliases(settings).find((alias) => alias.name === name)?.model
  const found = modelFinding(name, context, settings, model.contextWindow)
  const says = behind === undefined ? found.says : `${found.says}; alias of ${behind}`
  return [
    { ...found, says },
    {
      what: 'key',
      state: 'note',
      says: 'found by the package, in options of aiSdk or in the variables that its documentation names',
    },
    { what: 'package', state: 'good', says: 'installed and loadable; its service was not contacted' },
  ]
}

async function scriptFinding(path: string, context: DoctorContext): Promise<Finding> {
  try {
    await scriptGiven(path, { cwd: context.cwd, nameOf: flagOf })
    return { what: 'model', state: 'good', says: `script ${path}: needs no key and no network` }
  } catch (thrown) {
    return { what: 'model', state: 'broken', says: messageOf(thrown) }
  }
}

function modelFinding(
  name: string,
  { flags, env }: DoctorContext,
  settings: Settings,
  window: number | undefined = contextWindowOf(name),
): Finding {
  const unsaid = modelOf(settings, env) === undefined ? 'the default' : 'the settings'
  const from = flags.model !== undefined ? '--model' : env['ANTHROPIC_MODEL']?.trim() ? 'ANTHROPIC_MODEL' : unsaid
  const price = priceOfModel(name, settings)
  const says = `${name} (${from})${window === undefined ? '' : `, ${counted(window)} tokens`}`
  if (price !== undefined) {
    const cost =
      price.input === 0 && price.output === 0
        ? 'free'
        : `$${price.input} in and $${price.output} out per million tokens`
    return { what: 'model', state: 'good', says: `${says}, ${cost}` }
  }
  const meant = isBehindPackage(name, settings) ? undefined : nearestModel(name)
  return {
    what: 'model',
    state: 'note',
    says: `${says}, no known price: --max-budget-usd cannot be used`,
    todo: `Set its price with modelPrices in your settings.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
  }
}

function keyFinding(name: string, service: ModelService, { env }: DoctorContext, settings: Settings): Finding {
  const source = keySourceOf(name, env)
  if (source !== 'none') return { what: 'key', state: 'good', says: `from ${source}` }
  if (settings.apiKeyHelper !== undefined && isMessagesApiModel(name, env)) {
    return { what: 'key', state: 'good', says: 'from apiKeyHelper' }
  }
  const variables = keyVariablesOf(name) ?? []
  if (variables.length === 0) return { what: 'key', state: 'good', says: 'not needed' }
  const isHere = /^https?:\/\/(localhost|127\.|\[::1\])/.test(service.origin)
  return {
    what: 'key',
    state: isHere ? 'note' : 'broken',
    says: `not found${isHere ? ' (a service on this machine may not need one)' : ''}`,
    todo: `Set ${variables.join(' or ')}.`,
  }
}

function proxyFindings({ proxyVariable }: ModelService): readonly Finding[] {
  if (proxyVariable === undefined) return [{ what: 'proxy', state: 'good', says: 'none' }]
  return [{ what: 'proxy', state: 'good', says: `from ${proxyVariable}; NO_PROXY lists exceptions` }]
}

async function answerFindings(name: string, service: ModelService, key: Finding): Promise<readonly Finding[]> {
  const { origin, model } = service
  if (key.state === 'broken') {
    return [{ what: 'service', state: 'note', says: `${origin} was not contacted because there is no key` }]
  }
  const answer = await service.ask(timeoutMs)
  switch (answer.kind) {
    case 'failed':
      return [
        {
          what: 'service',
          state: 'broken',
          says: `${origin}: ${answer.message}`,
          todo: 'Check the network, the proxy and the base URL.',
        },
      ]
    case 'key_refused':
      return [
        {
          what: 'service',
          state: 'broken',
          says: `${origin} rejects the key (${answer.status})`,
          todo: `Set a valid key in ${keyVariablesOf(name)?.join(' or ') ?? 'the settings'}.`,
        },
      ]
    case 'answered': {
      const { models } = answer
      const prefix = name.endsWith(model) ? name.slice(0, name.length - model.length) : ''
      const asGiven = (own: string): string => `${prefix}${own}`
      if (models === undefined)
        return [{ what: 'service', state: 'good', says: `${origin} responds; it does not list its models` }]
      if (isListed(model, models))
        return [{ what: 'service', state: 'good', says: `${origin} responds and has ${model}` }]
      return [
        {
          what: 'service',
          state: answersToAnyName(name) ? 'note' : 'broken',
          says: `${origin} responds, but ${model} is not among its ${models.length} models`,
          todo:
            models.length === 0
              ? 'Download the model there, or choose another with --model.'
              : `Choose one of its models with --model: ${models.slice(0, 5).map(asGiven).join(', ')}${models.length > 5 ? ' …' : ''}`,
        },
      ]
    }
  }
}
