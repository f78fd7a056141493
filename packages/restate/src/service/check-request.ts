import { type MessageContent, ConfigurationError, type SettingsChange } from '@halting/core'
import { isJsonObject, answerProblem } from '@halting/core/adapters'
import type { SessionRequest } from './messages.ts'

/** Why a value is invalid for a field; undefined if it is valid. */
type FieldCheck = (value: unknown) => string | undefined

interface Fields {
  readonly needs?: { readonly [field: string]: FieldCheck }
  readonly takes?: { readonly [field: string]: FieldCheck }
}

export const maxIdLength = 200
/** No serializer handles deeper JSON: the engine would retry the call forever. */
const maxDepth = 500

/** Maximum size of a request, and what to do with a larger one. */
export interface RequestSizeLimit {
  readonly maxBytes: number
  readonly otherwise: string
}

/** On its way to a worker, a request is JSON within JSON and so up to twice as large; the engine accepts 32 MiB. */
export const sizeLimitWithStore: RequestSizeLimit = {
  maxBytes: 12 * 1024 * 1024,
  otherwise: 'Put larger data into a file of the session.',
}
/** Without a payload store, its message is in a record that the engine stores, with related data: at most `maxInlineBytes`. */
export const sizeLimitWithoutStore: RequestSizeLimit = {
  maxBytes: 7 * 1024 * 1024,
  otherwise:
    'The workers of this cluster have no payload store, which takes more: halting serve --payloads. Or put larger data into a file of the session.',
}
/** Only the cluster writes this field of a copy: it gives the session the folder of another one. */
const clusterOnlyField = 'forkedFrom'

const checkText: FieldCheck = (value) => (typeof value === 'string' ? undefined : 'must be a string')
const checkName: FieldCheck = (value) =>
  typeof value === 'string' && value !== '' && value.length <= maxIdLength
    ? undefined
    : `must be a string of 1 to ${maxIdLength} characters`
const checkObject: FieldCheck = (value) => (isJsonObject(value) ? undefined : 'must be an object')
/** The command of a goal would run on the worker regardless of its rules (`rejectGoals`). */
const checkChange: FieldCheck = (value) =>
  isJsonObject(value) && value['until'] === undefined
    ? undefined
    : 'must be an object without "until": the goals of a session are set when its worker starts'
const checkOneOf =
  (...values: readonly string[]): FieldCheck =>
  (value) =>
    typeof value === 'string' && values.includes(value) ? undefined : `must be one of ${values.join(', ')}`

const checkContent: FieldCheck = (value) => {
  if (typeof value === 'string') return value.trim() === '' ? 'must not be empty' : undefined
  const isList = Array.isArray(value) && value.length > 0
  return isList && value.every((block) => isJsonObject(block) && typeof block['type'] === 'string')
    ? undefined
    : 'must be a string, or a list of blocks such as {"type":"text","text":"…"}'
}

const checkAnswer: FieldCheck = (value) => {
  const what =
    'must be {"behavior":"allow","updatedInput":{…}}, where updatedInput is optional, or {"behavior":"deny","message":"…"}'
  if (!isJsonObject(value) || answerProblem(value) !== undefined) return what
  return value['behavior'] === 'allow' || typeof value['message'] === 'string' ? undefined : what
}

const checkDecisions: FieldCheck = (value) =>
  isJsonObject(value) &&
  Object.keys(value).length > 0 &&
  Object.values(value).every((one) => checkAnswer(one) === undefined)
    ? undefined
    : 'must have an answer for each call: {"CALL":{"behavior":"allow"}}'

const checkTimestamp: FieldCheck = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : 'must be a number of milliseconds since 1970'

const fieldsOf: { readonly [type in SessionRequest['type']]: Fields } = {
  prompt: { needs: { content: checkContent }, takes: { when: checkOneOf('now', 'next', 'later') } },
  retract: { needs: { message: checkName } },
  interrupt: {
    takes: {
      because: checkOneOf('user', 'interrupt', 'time', 'budget', 'terminated', 'parent'),
      queue: checkOneOf('keep', 'give_back'),
    },
  },
  retry_now: { needs: { since: checkTimestamp } },
  stop: { takes: { message: checkText } },
  set: { needs: { change: checkChange } },
  answer: { needs: { callId: checkName, answer: checkAnswer } },
  compact: { takes: { instructions: checkText } },
  resume: { takes: { limits: checkObject } },
  approve: { needs: { approvals: checkDecisions } },
  last_answer: {},
  rewind: { needs: { before: checkName } },
  stop_task: { needs: { taskId: checkName } },
  close: {},
}

/** Why this is not a valid named request, in a sentence; undefined if it is valid. Anyone may send it. */
export function problemOfRequest(input: unknown, size: RequestSizeLimit = sizeLimitWithStore): string | undefined {
  if (!isJsonObject(input)) return 'Give an object: { "id", "request" }.'
  const { id, request, opening } = input
  const idProblem = checkName(id)
  if (idProblem !== undefined) return `The id of a request ${idProblem}.`
  if (opening !== undefined && !isJsonObject(opening)) return 'The opening of a session must be an object.'
  if (opening !== undefined && Object.hasOwn(opening, clusterOnlyField))
    return `Only the cluster may set ${clusterOnlyField} in an opening. Fork the session instead.`
  if (!isJsonObject(request)) return 'A request must be an object, such as {"type":"prompt","content":"…"}.'
  return problemOfFields(request) ?? problemOfSize(input, size)
}

function problemOfSize(input: unknown, { maxBytes, otherwise }: RequestSizeLimit): string | undefined {
  if (isTooDeep(input)) return `A request may be at most ${maxDepth} lists and objects deep.`
  const bytes = Buffer.byteLength(JSON.stringify(input))
  return bytes > maxBytes
    ? `A request may have at most ${maxBytes} bytes of JSON; this one has ${bytes}. ${otherwise}`
    : undefined
}

/** Why messages cannot go into one run together. With the files that they name they may be larger than the request. */
export function problemOfMessages(
  messages: readonly MessageContent[],
  { maxBytes, otherwise }: RequestSizeLimit,
): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(messages))
  const what =
    messages.length > 1 ? 'Messages that wait for a run have' : 'With the files that it names, the message has'
  return bytes > maxBytes ? `${what} ${bytes} bytes of JSON; the maximum is ${maxBytes}. ${otherwise}` : undefined
}

function isTooDeep(input: unknown): boolean {
  let values: readonly unknown[] = [input]
  for (let depth = 0; depth <= maxDepth; depth++) {
    values = values.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
    if (values.length === 0) return false
  }
  return true
}

function problemOfFields(request: { readonly [field: string]: unknown }): string | undefined {
  const { type } = request
  const types = Object.keys(fieldsOf)
  if (typeof type !== 'string' || !types.includes(type))
    return `The type of a request ${checkOneOf(...types)(type) ?? ''}.`
  // This cast is safe: the type is one of the keys.
  const { needs = {}, takes = {} } = fieldsOf[type as SessionRequest['type']]
  for (const [field, check] of Object.entries({ ...needs, ...takes })) {
    if (request[field] === undefined && needs[field] === undefined) continue
    const problem = check(request[field])
    if (problem !== undefined) return `In a request of type ${type}, ${field} ${problem}.`
  }
  return undefined
}

/**
 * The command of a goal runs on the worker, outside the model's control and not subject to the worker's permission rules. Anyone with a client could run anything there.
 * @throws ConfigurationError for a change that sets goals.
 */
export function rejectGoals({ until }: SettingsChange): void {
  if (until === undefined) return
  throw new ConfigurationError(
    'The goals of a session on a cluster are set when its worker starts; nothing was changed. Start the worker with other goals.',
  )
}
