import { stringOf } from '../json-fields.ts'
import { reasoningEfforts } from '../responses/reasoning-effort.ts'
import type { RefusedFields } from '../responses/responses-body.ts'
import type { ErrorBody } from '../service/error-body.ts'
import type { Refusal } from '../service/service-model.ts'

/** A protocol of OpenAI, and of services like it. */
export type OpenAiApi = 'responses' | 'chat_completions'

export const openAiApis: readonly OpenAiApi[] = ['responses', 'chat_completions']

// Spec R-RESP-12.
/**
 * What is known of a service: how it was made, and what it refused since.
 *
 * L1: each thing is learned once in a model's life. What was learned is never unlearned, so that a request is made again
 *     only a few times, whatever the service says.
 * L2: reasoning may be refused again, but only where the model thought something since: a key may change while it runs,
 *     and a gateway may ask another account each time.
 */
export interface ServiceKnowledge {
  readonly api: OpenAiApi
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
  /** It refused the other name already. */
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
 * What is known after a refusal; undefined where it is about something that the request cannot do without. `hasThought`:
 * whether the model thought something in this process since reasoning was refused so often.
 */
export function learnFromRefusal(
  known: ServiceKnowledge,
  { status, body }: Refusal,
  hasThought: (refusals: number) => boolean = () => false,
): ServiceKnowledge | undefined {
  const about = refusalSubject(body)
  // Reasoning is looked at late: some say of it in the stream.
  const isOfStream = status === undefined && about.isEncryptedContent && known.api === 'responses'
  // What FastAPI cannot read it answers with 422.
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
  // Nothing is to be stored where a service only says that it cannot find what it did not store.
  const refusesStore = about.names('store', /['"`]store['"`]/i) && isUnknownField(about.message)
  if (!refused.store && refusesStore) return without({ store: true })
  return learnEffort(known, about)
}

interface RefusalSubject {
  readonly message: string
  readonly isEncryptedContent: boolean
  /** Whether it is about this field, or an entry of it: the service names it, or says so in words where it names none. */
  names(field: string, words: RegExp, which?: 'alone'): boolean
}

function refusalSubject({ code, message, objects }: ErrorBody): RefusalSubject {
  const param = objects.map((object) => stringOf(object.param)).find((name) => name !== '') ?? ''
  // What follows may be what was sent.
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

/** The field itself, or an entry of it. */
function isField(param: string, field: string): boolean {
  return param === field || param.startsWith(`${field}[`) || param.startsWith(`${field}.`)
}

/** OpenAI's newer models take the newer name alone, and some services only know the older one. */
function learnOutputLimit(known: ServiceKnowledge, about: RefusalSubject): ServiceKnowledge | undefined {
  const { outputLimitField, isOutputLimitLearned } = known
  if (isOutputLimitLearned || !about.names(outputLimitField, new RegExp(`\\b${outputLimitField}\\b`))) return undefined
  // A value that it does not take is not a name that it does not know.
  if (!isUnknownField(about.message)) return undefined
  const other = outputLimitField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  return { ...known, outputLimitField: other, isOutputLimitLearned: true }
}

function isUnknownField(message: string): boolean {
  return /un(supported|known|recognized|expected)|not (supported|permitted|allowed)|extra (inputs?|fields?)/i.test(
    message,
  )
}

/** The model does not know that any of it can be asked for. */
function learnReasoning(known: ServiceKnowledge): ServiceKnowledge | undefined {
  const { summary, efforts } = known.refused
  const isKnown = summary && efforts.size === reasoningEfforts.length
  const refused = { ...known.refused, summary: true, efforts: new Set(reasoningEfforts) }
  return isKnown ? undefined : { ...known, refused }
}

/** It takes the value, but not with some tools of its own: these are what it names as its field. */
const effortForTools = /tools cannot be used with reasoning[._]effort/i

/** A value that the model does not take, or all of them where it does not know the field. */
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
  const taken = reasoningEfforts.filter((one) => new RegExp(`\\b${one}\\b`).test(listed))
  if (taken.length > 0) return reasoningEfforts.filter((one) => !taken.includes(one))
  const named = reasoningEfforts.filter((one) => new RegExp(`['"\`]${one}['"\`]`).test(before))
  return named.length > 0 ? named : reasoningEfforts
}

/** What two know together, where each learned by itself. */
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

/** Answers of a service that does not have the Responses API: no such address, or nothing that takes a request there. */
const noSuchPlace: ReadonlySet<number> = new Set([404, 405, 501])

/** Whether an answer says that there is no such API, and not that there is no such model. */
export function lacksApi({ status, body }: Refusal): boolean {
  const { code, message, isApi, objects } = body
  // GitHub Copilot's: of a model that it has by the other API alone.
  if (code === 'unsupported_api_for_model') return true
  if (status === undefined || !noSuchPlace.has(status)) return false
  const isAboutModel =
    /model_not_found|deployment/i.test(code) ||
    objects.some(({ param }) => param === 'model') ||
    (isApi && /\b(models?|deployment)\b/i.test(message))
  return !isAboutModel
}
