import { requestableModelName, reachableServices, serviceFromEnvironment } from '@halting/models'
import { messageOf } from '@halting/core/adapters'
import { helperOf, listedAliases, modelSettingsOf, type RunSettings } from '@halting/agent/session-settings'

/** The answer of a service about its models. */
export type ListedModels =
  /** Names as `--model` accepts them, and how many were left out: invalid names, and models that write no text. */
  | { readonly kind: 'models'; readonly names: readonly string[]; readonly left: number }
  /** The service listed no models, for this reason. */
  | { readonly kind: 'none'; readonly why: string }
  /** Nothing is running at the default port of a local service. */
  | { readonly kind: 'absent' }

/** A pending request to a service. */
export interface ServiceQuery {
  readonly service: string
  /** Never rejects, and resolves within the timeout. */
  readonly answer: Promise<ListedModels>
}

const patienceMs = 5_000

/** Asks every service with a key or address in settings or environment, and local ones, in parallel (spec R-TERM-90). */
export function askServices(
  { env, settings }: Pick<RunSettings, 'env' | 'settings'>,
  timeoutMs: number = patienceMs,
): readonly ServiceQuery[] {
  const credentials = helperOf(settings, env)
  const reachedBy = modelSettingsOf({ settings, env })
  const found = reachableServices(env)
  const isMissing = credentials !== undefined && !found.some(({ prefix }) => prefix === 'anthropic')
  const services = isMissing ? [{ prefix: 'anthropic', isSetUp: true }, ...found] : found
  const aliases = listedAliases(settings).map(({ name }) => name)
  const queries = services.map(({ prefix, isSetUp }) => ({ service: prefix, answer: ask(prefix, isSetUp) }))
  if (aliases.length === 0) return queries
  return [{ service: 'aiSdk', answer: Promise.resolve({ kind: 'models', names: aliases, left: 0 }) }, ...queries]

  async function ask(prefix: string, isSetUp: boolean): Promise<ListedModels> {
    try {
      const service = serviceFromEnvironment(`${prefix}/any`, env, { anthropic: { credentials } })
      const answer = await service.ask(timeoutMs)
      switch (answer.kind) {
        case 'answered':
          if (answer.models === undefined) return { kind: 'none', why: 'does not list its models' }
          return plainNames(prefix, answer.models, (name) => requestableModelName(name, env, reachedBy))
        case 'key_refused':
          return isSetUp ? { kind: 'none', why: `rejects the key (${answer.status})` } : { kind: 'absent' }
        case 'failed':
          return isSetUp ? { kind: 'none', why: answer.message } : { kind: 'absent' }
      }
    } catch (thrown) {
      // The address is unusable.
      return { kind: 'none', why: messageOf(thrown) }
    }
  }
}

/** Accepts only plain names, because names come from the service. */
function plainNames(
  prefix: string,
  listed: readonly string[],
  askedBy: (name: string) => string | undefined,
): ListedModels {
  const names = listed.flatMap((listedName) => {
    const name = listedName.replace(/^models\//, '')
    if (!/^[\w.:/@+-]{1,200}$/.test(name) || /embed|rerank|whisper/i.test(name)) return []
    return askedBy(prefix === 'anthropic' && name.startsWith('claude-') ? name : `${prefix}/${name}`) ?? []
  })
  return { kind: 'models', names: [...new Set(names)], left: listed.length - names.length }
}
