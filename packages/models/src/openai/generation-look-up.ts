import type { Json, JsonObject, Model, Usage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { LookedUpUsage } from '@halting/core/adapters'
import { openExchange } from '../http/exchange.ts'
import { parseJson, stringOf } from '../json-fields.ts'
import { noCountIn, numberOf } from '../usage-counts.ts'
import type { KeyRing } from '../service/credentials.ts'
import { headersOf } from '../service/endpoint.ts'
import type { Redactor } from '../service/redactor.ts'
import type { CallLimits } from '../service/service-model.ts'

/** Where and how to request the usage of generations. */
export interface GenerationService {
  readonly url: string
  readonly keys: KeyRing
  readonly limits: CallLimits
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly redactor: Redactor
}

/** Whether the service at this host reports the usage of a reply afterwards, as OpenRouter does. */
export function hasGenerations(hostname: string): boolean {
  return hostname === 'openrouter.ai' || hostname.endsWith('.openrouter.ai')
}

/**
 * Requests the usage of a reply from OpenRouter (`GET /generation?id=gen-…`). Rejects if the request fails; unknown
 * values are undefined.
 */
export function generationLookUp(service: GenerationService): NonNullable<Model['lookUpUsage']> {
  return async (replyId, { signal }) => {
    // Other ids were created here, or by another service behind the same address.
    if (!replyId.startsWith('gen-')) return undefined
    const { url, keys, limits, headers, redactor } = service
    const key = await keys.current(signal)
    redactor.add(key.credential.apiKey, key.credential.authToken)
    const opened = await openExchange(
      {
        url: urlOf(url, replyId),
        headers: { ...key.headers, ...headersOf({ accept: 'application/json' }, headers) },
      },
      { ...limits, signal },
    )
    if (opened.kind === 'failed') throw opened.error
    const { exchange } = opened
    try {
      if (exchange.answer.status !== 200) return undefined
      const { text, end } = await exchange.text(longestAnswer)
      return end.kind === 'broken' ? undefined : usageOfGeneration(parseJson(text), replyId)
    } finally {
      exchange.dispose()
    }
  }
}

function urlOf(service: string, replyId: string): string {
  const url = new URL(service)
  url.searchParams.set('id', replyId)
  return url.href
}

/** Maximum response size in bytes; a normal one has some hundred. */
const longestAnswer = 262_144

function usageOfGeneration(answer: unknown, replyId: string): LookedUpUsage | undefined {
  const data = isJsonObject(answer) ? answer['data'] : undefined
  if (!isJsonObject(data) || stringOf(data['id']) !== replyId) return undefined
  const usd = costOf(data)
  const usage = usageOf(data)
  return { ...(usd !== undefined && { usd }), ...(usage !== undefined && { usage }) }
}

/** Returns the cost: with a user's own key, OpenRouter bills its fee and the provider the rest. */
function costOf({
  total_cost: total,
  is_byok: isOwnKey,
  upstream_inference_cost: upstream,
}: JsonObject): number | undefined {
  if (typeof total !== 'number') return undefined
  if (isOwnKey !== true) return total
  return typeof upstream === 'number' ? total + upstream : undefined
}

/** Returns usage in the model's own tokens, as replies report them, or else in OpenRouter's normalized tokens. */
function usageOf(data: JsonObject): Usage | undefined {
  const prompt = data['native_tokens_prompt'] ?? data['tokens_prompt']
  const completion = data['native_tokens_completion'] ?? data['tokens_completion']
  const cached = data['native_tokens_cached']
  const thought = data['native_tokens_reasoning']
  if (!isNumber(prompt) || !isNumber(completion) || noCountIn([prompt, completion, cached, thought]) !== undefined)
    return undefined
  return {
    input_tokens: numberOf(prompt) - numberOf(cached),
    output_tokens: Math.max(numberOf(completion), numberOf(thought)),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: numberOf(cached),
  }
}

function isNumber(value: Json | undefined): boolean {
  return typeof value === 'number'
}
