import { stringOf } from '../json-fields.ts'
import { reasoningEfforts } from '../responses/reasoning-effort.ts'
import type { RefusedFields } from '../responses/responses-body.ts'
import type { ErrorBody } from '../service/error-body.ts'
import type { Refusal } from '../service/service-model.ts'

/** An API of OpenAI and compatible services. */
export type OpenAiApi = 'responses' | 'chat_completions'

export const openAiApis: readonly OpenAiApi[] = ['responses', 'chat_completions']

// Spec R-RESP-12.
/**
 * What is known about a service: its options, and what it has refused.
 *
 * L1: each thing is learned once per model and never unlearned, so a request is repeated only a few times.
 * L2: reasoning may be refused again, but only if the model has reasoned since: a key may change at run time, and a
 *     gateway may use several accounts.
 */
export interface ServiceKnowledge {
  readonly api: OpenAiApi
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
  /** The service has already rejected the other name. */
  readonly isOutputLimitLearned: boolean
  readonly refused: RefusedFields
}

export function initialKnowledge({
  api,
  outputLimitField,
}: Pick<ServiceKnowledge, 'api' | 'outputLimitField'>): ServiceKnowledge {
  const refused = { store: false, include: false, carriedReasoning: 0, summary: false, efforts: new Set<string>() }
  return { api, outputLimitField, isOutputLimitLearned: false, refused }
}

/**
 * Returns the knowledge after a refusal; undefined if the request cannot omit what was refused. `hasThought` says
 * whether the model has reasoned in this process since the given number of refusals.
 */
export function learnFromRefusal(
  known: ServiceKnowledge,
  { status, body }: Refusal,
  hasThought: (refusals: number) => boolean = () => false,
): ServiceKnowledge | undefined {
  const about = refusalSubject(body)
  // Some services detect invalid reasoning only during the stream.
  const isOfStream = status === undefined && about.isEncryptedContent && known.api === 'responses'
  // FastAPI answers 422 to a request that it cannot parse.
  if (status !== 400 && status !== 422 && !isOfStream) return undefined
  if (known.api === 'chat_completions') return learnOutputLimit(known, about) ?? learnEffort(known, about)
  const { refused } = known
  const without = (field: Partial<RefusedFields>): ServiceKnowledge => ({ ...known, refused: { ...refused, ...field } })
  const { carriedReasoning } = refused
  if (about.isEncryptedContent && (carriedReasoning === 0 || hasThought(carriedReasoning))) {
    return without({ carriedReasoning: carriedReasoning + 1 })
  }
  if (!refused.include && about.names('include', /encrypted content is not supported|reasoning\.encrypted_content/i)) {
    return without({ include: true })
  }
  if (!refused.summary && about.names('reasoning.summary', /reasoning\.summary|reasoning summar(y|ies)/i)) {
    return without({ summary: true })
  }
  if (about.names('reasoning', /['"`]reasoning['"`]/i, 'alone')) return learnReasoning(known)
  // "Not found" only means that nothing was stored, which is intended.
  const refusesStore = about.names('store', /['"`]store['"`]/i) && isUnknownField(about.message)
  if (!refused.store && refusesStore) return without({ store: true })
  return learnEffort(known, about)
}

interface RefusalSubject {
  readonly message: string
  readonly isEncryptedContent: boolean
  /**
   * Whether the refusal is about this field or an entry of it: by its field name, or by its message if it names no
   * field.
   */
  names(field: string, words: RegExp, which?: 'alone'): boolean
}

function refusalSubject({ code, message, objects }: ErrorBody): RefusalSubject {
  const param = objects.map((object) => stringOf(object.param)).find((name) => name !== '') ?? ''
  // The rest of the message may quote the request.
  const words = message.slice(0, 600)
  return {
    message: words,
    isEncryptedContent:
      code === 'invalid_encrypted_content' ||
      /encrypted.content.{0,200}(could not be (verified|decrypted)|not issued to)/i.test(words),
    names: (field, pattern, which) => {
      if (param === '') return pattern.test(words)
      return which === 'alone' ? param === field : isField(param, field)
    },
  }
}

/** Whether the name is the field itself, or an entry of it. */
function isField(param: string, field: string): boolean {
  return param === field || param.startsWith(`${field}[`) || param.startsWith(`${field}.`)
}

/**
 * Learns the name of the output limit: OpenAI's newer models accept only the newer name, and some services only the
 * older one.
 */
function learnOutputLimit(known: ServiceKnowledge, about: RefusalSubject): ServiceKnowledge | undefined {
  const { outputLimitField, isOutputLimitLearned } = known
  if (isOutputLimitLearned || !about.names(outputLimitField, new RegExp(`\\b${outputLimitField}\\b`))) return undefined
  // A rejected value does not mean that the field is unknown.
  if (!isUnknownField(about.message)) return undefined
  const other = outputLimitField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  return { ...known, outputLimitField: other, isOutputLimitLearned: true }
}

function isUnknownField(message: string): boolean {
  return /un(supported|known|recognized|expected)|not (supported|permitted|allowed)|extra (inputs?|fields?)/i.test(
    message,
  )
}

/** Learns that the model supports no reasoning options. */
function learnReasoning(known: ServiceKnowledge): ServiceKnowledge | undefined {
  const { summary, efforts } = known.refused
  const isKnown = summary && efforts.size === reasoningEfforts.length
  const refused = { ...known.refused, summary: true, efforts: new Set(reasoningEfforts) }
  return isKnown ? undefined : { ...known, refused }
}

/** The value is supported, but not together with some of the service's tools; the message names those as the field. */
const effortForTools = /tools cannot be used with reasoning[._]effort/i

/** Learns which values the model rejects, or all of them if it does not know the field. */
function learnEffort(known: ServiceKnowledge, about: RefusalSubject): ServiceKnowledge | undefined {
  const { api, refused } = known
  const name = api === 'responses' ? 'reasoning.effort' : 'reasoning_effort'
  if (!about.names(name, /reasoning[._ ]?effort/i) && !effortForTools.test(about.message)) return undefined
  const efforts = new Set([...refused.efforts, ...refusedEfforts(about)])
  return efforts.size === refused.efforts.size ? undefined : { ...known, refused: { ...refused, efforts } }
}

function refusedEfforts({ message }: RefusalSubject): readonly string[] {
  const [before = '', listed = ''] = message.split(
    /supported values are|must be one of|expected one of|set reasoning_effort to/i,
  )
  const supported = reasoningEfforts.filter((one) => new RegExp(`\\b${one}\\b`).test(listed))
  if (supported.length > 0) return reasoningEfforts.filter((one) => !supported.includes(one))
  const named = reasoningEfforts.filter((one) => new RegExp(`['"\`]${one}['"\`]`).test(before))
  return named.length > 0 ? named : reasoningEfforts
}

/** Combines the knowledge of two requests. */
export function mergeKnowledge(one: ServiceKnowledge, other: ServiceKnowledge): ServiceKnowledge {
  const { outputLimitField, isOutputLimitLearned } = one.isOutputLimitLearned ? one : other
  const [a, b] = [one.refused, other.refused]
  return {
    api: one.api === 'responses' ? other.api : one.api,
    outputLimitField,
    isOutputLimitLearned,
    refused: {
      store: a.store || b.store,
      include: a.include || b.include,
      carriedReasoning: Math.max(a.carriedReasoning, b.carriedReasoning),
      summary: a.summary || b.summary,
      efforts: new Set([...a.efforts, ...b.efforts]),
    },
  }
}

/** Statuses of a service without the Responses API: no such address, or no such method. */
const noSuchPlace: ReadonlySet<number> = new Set([404, 405, 501])

/** Whether a refusal means that the API does not exist, rather than the model. */
export function lacksApi({ status, body }: Refusal): boolean {
  const { code, message, isApi, objects } = body
  // GitHub Copilot: the model is available only through the other API.
  if (code === 'unsupported_api_for_model') return true
  if (status === undefined || !noSuchPlace.has(status)) return false
  const isAboutModel =
    /model_not_found|deployment/i.test(code) ||
    objects.some(({ param }) => param === 'model') ||
    (isApi && /\b(models?|deployment)\b/i.test(message))
  return !isAboutModel
}
