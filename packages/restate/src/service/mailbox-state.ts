import { maxInlineBytes } from '../engine/batch.ts'
import type { ObjectState } from './conversation.ts'
import { emptyMailbox, isEmpty, type Mailbox, type PushOutcome } from './mailbox.ts'
import type { NumberedRequest, Opening } from './messages.ts'

// The state of a mailbox, with one key for each item, so that the cost of a request does not depend on how many names are known or requests wait.

/** Number of request ids that are remembered. */
export const maxKnownNames = 5_000

const mailboxKey = 'mailbox'
const openingKey = 'opening'
const requestKey = (number: number): string => `request/${number}`
/** Ids of requests, and the ids by their numbers. */
const nameKey = (id: string): string => `name/${id}`
const numberKey = (number: number): string => `number/${number}`

/** Requests that wait. */
export interface WaitingPage {
  readonly requests: readonly NumberedRequest[]
  /** More requests follow. */
  readonly hasMore: boolean
}

export async function readMailbox(state: Pick<ObjectState, 'get'>): Promise<Mailbox> {
  return (await state.get<Mailbox>(mailboxKey)) ?? emptyMailbox
}

/** A session that never existed leaves no state. */
export function writeMailbox(state: ObjectState, mailbox: Mailbox): void {
  if (isEmpty(mailbox)) state.clear(mailboxKey)
  else state.set(mailboxKey, mailbox)
}

export async function isKnown(state: Pick<ObjectState, 'get'>, id: string): Promise<boolean> {
  return (await state.get<number>(nameKey(id))) !== null
}

/** Whether a request with this id waits. */
export async function isWaiting(state: Pick<ObjectState, 'get'>, mailbox: Mailbox, id: string): Promise<boolean> {
  const number = await state.get<number>(nameKey(id))
  return mailbox.waiting.some((request) => request.number === number)
}

/** Stores the outcome of a push. */
export async function writePushOutcome(state: ObjectState, id: string, pushed: PushOutcome): Promise<void> {
  if (pushed.kind === 'again' || pushed.kind === 'closed') return
  const { mailbox, number } = pushed
  writeMailbox(state, mailbox)
  if (pushed.kind === 'new') state.set(requestKey(number), pushed.request)
  state.set(nameKey(id), number)
  state.set(numberKey(number), id)
  const oldest = number - maxKnownNames
  const forgotten = oldest > 0 ? await state.get<string>(numberKey(oldest)) : null
  if (forgotten === null) return
  state.clear(nameKey(forgotten))
  state.clear(numberKey(oldest))
}

/** Removes requests that were settled. */
export function writeSettled(state: ObjectState, before: Mailbox, after: Mailbox): void {
  writeMailbox(state, after)
  const waits = new Set(after.waiting.map(({ number }) => number))
  for (const { number } of before.waiting) if (!waits.has(number)) state.clear(requestKey(number))
}

/** Waiting requests after this number, as many as fit into one answer of the engine. */
export async function readWaitingAfter(
  state: Pick<ObjectState, 'get'>,
  mailbox: Mailbox,
  after: number,
): Promise<WaitingPage> {
  const requests: NumberedRequest[] = []
  let bytes = 0
  for (const { number } of mailbox.waiting.filter((each) => each.number > after)) {
    const request = await state.get<NumberedRequest>(requestKey(number))
    if (request === null) continue
    bytes += Buffer.byteLength(JSON.stringify(request))
    if (requests.length > 0 && bytes > maxInlineBytes) return { requests, hasMore: true }
    requests.push(request)
  }
  return { requests, hasMore: false }
}

export async function readOpening(state: Pick<ObjectState, 'get'>): Promise<Opening | undefined> {
  return (await state.get<Opening>(openingKey)) ?? undefined
}

/** Stores the opening. Only the first opening counts. */
export async function storeOpening(state: ObjectState, opening: Opening): Promise<void> {
  if ((await readOpening(state)) === undefined) state.set(openingKey, opening)
}
