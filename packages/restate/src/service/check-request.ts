import { type MessageContent, ConfigurationError, type SettingsChange } from '@halting/core'
import { isJsonObject, problemOfAnswer } from '@halting/core/adapters'
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
  readonly mostBytes: number
  readonly otherwise: string
}

/** On its way to a worker, a request is JSON within JSON and so up to twice as large; the engine accepts 32 MiB. */
export const sizeLimitWithStore: RequestSizeLimit = {
  mostBytes: 12 * 1024 * 1024,
  otherwise: 'Put what is larger into a file of the session.',
}
/** Without a payload store, its message is in a record that the engine stores, with related data: at most `maxInlineBytes`. */
export const sizeLimitWithoutStore: RequestSizeLimit = {
  mostBytes: 7 * 1024 * 1024,
  otherwise:
    'The workers of this cluster have no payload store, which takes more: halting serve --payloads. Or put what is larger into a file of the session.',
}
/** Only the cluster writes this field of a copy: it gives the session the folder of another one. */
const clusterOnlyField = 'forkedFrom'

const isText: FieldCheck = (value) => (typeof value === 'string' ? undefined : 'is a text')
const isName: FieldCheck = (value) =>
  typeof value === 'string' && value !== '' && value.length <= maxIdLength
    ? undefined
    : `is a text of 1 to ${maxIdLength} characters`
const isObject: FieldCheck = (value) => (isJsonObject(value) ? undefined : 'is an object')
/** The command of a goal would run on the worker regardless of its rules (`rejectGoals`). */
const isChange: FieldCheck = (value) =>
  isJsonObject(value) && value['until'] === undefined
    ? undefined
    : 'is an object without "until": the goals of a session are those that its worker was started with'
const isOneOf =
  (...values: readonly string[]): FieldCheck =>
  (value) =>
    typeof value === 'string' && values.includes(value) ? undefined : `is one of ${values.join(', ')}`

const isContent: FieldCheck = (value) => {
  if (typeof value === 'string') return value.trim() === '' ? 'is not empty' : undefined
  const isList = Array.isArray(value) && value.length > 0
  return isList && value.every((block) => isJsonObject(block) && typeof block['type'] === 'string')
    ? undefined
    : 'is a text, or a list of blocks such as {"type":"text","text":"…"}'
}

const isAnswer: FieldCheck = (value) => {
  const what =
    'is {"behavior":"allow","updatedInput":{…}}, where the last is optional, or {"behavior":"deny","message":"…"}'
  if (!isJsonObject(value) || problemOfAnswer(value) !== undefined) return what
  return value['behavior'] === 'allow' || typeof value['message'] === 'string' ? undefined : what
}

const isDecisions: FieldCheck = (value) =>
  isJsonObject(value) &&
  Object.keys(value).length > 0 &&
  Object.values(value).every((one) => isAnswer(one) === undefined)
    ? undefined
    : 'has an answer for each call: {"CALL":{"behavior":"allow"}}'

const isTimestamp: FieldCheck = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : 'is a number of milliseconds since 1970'

const fieldsOf: { readonly [type in SessionRequest['type']]: Fields } = {
  prompt: { needs: { content: isContent }, takes: { when: isOneOf('now', 'next', 'later') } },
  retract: { needs: { message: isName } },
  interrupt: {
    takes: {
      because: isOneOf('user', 'interrupt', 'time', 'budget', 'terminated', 'parent'),
      queue: isOneOf('keep', 'give_back'),
    },
  },
  retry_now: { needs: { since: isTimestamp } },
  stop: { takes: { message: isText } },
  set: { needs: { change: isChange } },
  answer: { needs: { callId: isName, answer: isAnswer } },
  compact: { takes: { instructions: isText } },
  resume: { takes: { limits: isObject } },
  approve: { needs: { approvals: isDecisions } },
  last_answer: {},
  rewind: { needs: { before: isName } },
  stop_task: { needs: { taskId: isName } },
  close: {},
}

/** Why this is not a valid named request, in a sentence; undefined if it is valid. Anyone may send it. */
export function problemOfRequest(input: unknown, size: RequestSizeLimit = sizeLimitWithStore): string | undefined {
  if (!isJsonObject(input)) return 'Give an object: { "id", "request" }.'
  const { id, request, opening } = input
  const ofId = isName(id)
  if (ofId !== undefined) return `The id of a request ${ofId}.`
  if (opening !== undefined && !isJsonObject(opening)) return 'The opening of a session is an object.'
  if (opening !== undefined && Object.hasOwn(opening, clusterOnlyField))
    return `${clusterOnlyField} of an opening is written by the cluster: fork the session.`
  if (!isJsonObject(request)) return 'A request is an object, such as {"type":"prompt","content":"…"}.'
  return problemOfFields(request) ?? problemOfSize(input, size)
}

function problemOfSize(input: unknown, { mostBytes, otherwise }: RequestSizeLimit): string | undefined {
  if (isTooDeep(input)) return `A request is at most ${maxDepth} lists and objects deep.`
  const bytes = Buffer.byteLength(JSON.stringify(input))
  return bytes > mostBytes
    ? `A request is at most ${mostBytes} bytes of JSON, and this one has ${bytes}. ${otherwise}`
    : undefined
}

/** Why messages cannot go into one run together. With the files that they name they may be larger than the request. */
export function problemOfMessages(
  messages: readonly MessageContent[],
  { mostBytes, otherwise }: RequestSizeLimit,
): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(messages))
  const what =
    messages.length > 1 ? 'Messages that wait for a run have' : 'With the files that it names the message has'
  return bytes > mostBytes ? `${what} ${bytes} bytes of JSON, and ${mostBytes} is the most. ${otherwise}` : undefined
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
    return `The type of a request ${isOneOf(...types)(type) ?? ''}.`
  // It is one of its keys.
  const { needs = {}, takes = {} } = fieldsOf[type as SessionRequest['type']]
  for (const [field, check] of Object.entries({ ...needs, ...takes })) {
    if (request[field] === undefined && needs[field] === undefined) continue
    const problem = check(request[field])
    if (problem !== undefined) return `In a request of the type ${type}, ${field} ${problem}.`
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
    'The goals of a session on a cluster are those that its worker was started with; nothing was changed. Start the worker with other goals.',
  )
}
