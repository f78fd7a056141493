import { maxInlineBytes } from '../engine/batch.ts'
import type { ObjectState } from './conversation.ts'
import { emptyMailbox, isEmpty, type Mailbox, type PushOutcome } from './mailbox.ts'
import type { NumberedRequest, Opening } from './messages.ts'

// What a mailbox keeps, one thing a key: a request costs what it is, however many names are known and whatever waits.

/** So many names are remembered. */
export const maxKnownNames = 5_000

const mailboxKey = 'mailbox'
const openingKey = 'opening'
const requestKey = (number: number): string => `request/${number}`
/** Names that came, and by their numbers which ones. */
const nameKey = (id: string): string => `name/${id}`
const numberKey = (number: number): string => `number/${number}`

/** Requests that wait. */
export interface WaitingPage {
  readonly requests: readonly NumberedRequest[]
  /** There are others behind them. */
  readonly hasMore: boolean
}

export async function readMailbox(state: Pick<ObjectState, 'get'>): Promise<Mailbox> {
  return (await state.get<Mailbox>(mailboxKey)) ?? emptyMailbox
}

/** Of a session that was never there nothing stays. */
export function writeMailbox(state: ObjectState, mailbox: Mailbox): void {
  if (isEmpty(mailbox)) state.clear(mailboxKey)
  else state.set(mailboxKey, mailbox)
}

export async function isKnown(state: Pick<ObjectState, 'get'>, id: string): Promise<boolean> {
  return (await state.get<number>(nameKey(id))) !== null
}

/** Whether a request of this name waits. */
export async function isWaiting(state: Pick<ObjectState, 'get'>, mailbox: Mailbox, id: string): Promise<boolean> {
  const number = await state.get<number>(nameKey(id))
  return mailbox.waiting.some((request) => request.number === number)
}

/** Keeps what became of a request. */
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

/** Requests that were answered for are gone. */
export function writeSettled(state: ObjectState, before: Mailbox, after: Mailbox): void {
  writeMailbox(state, after)
  const waits = new Set(after.waiting.map(({ number }) => number))
  for (const { number } of before.waiting) if (!waits.has(number)) state.clear(requestKey(number))
}

/** What waits behind this number, as much as one answer of the engine takes. */
export async function waitingAfter(
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

/** The first that was said counts. */
export async function storeOpening(state: ObjectState, opening: Opening): Promise<void> {
  if ((await readOpening(state)) === undefined) state.set(openingKey, opening)
}
