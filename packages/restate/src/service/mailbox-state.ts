import { mostInlineBytes } from '../engine/batch.ts'
import type { State } from './conversation.ts'
import { emptyMailbox, isEmpty, type Mailbox, type Pushed } from './mailbox.ts'
import type { NumberedRequest, Opening } from './messages.ts'

// What a mailbox keeps, one thing a key: a request costs what it is, however many names are known and whatever waits.

/** So many names are remembered. */
export const mostKnown = 5_000

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

export async function readMailbox(state: Pick<State, 'get'>): Promise<Mailbox> {
  return (await state.get<Mailbox>(mailboxKey)) ?? emptyMailbox
}

/** Of a session that was never there nothing stays. */
export function writeMailbox(state: State, mailbox: Mailbox): void {
  if (isEmpty(mailbox)) state.clear(mailboxKey)
  else state.set(mailboxKey, mailbox)
}

export async function isKnown(state: Pick<State, 'get'>, id: string): Promise<boolean> {
  return (await state.get<number>(nameKey(id))) !== null
}

/** Whether a request of this name waits. */
export async function isWaiting(state: Pick<State, 'get'>, mailbox: Mailbox, id: string): Promise<boolean> {
  const number = await state.get<number>(nameKey(id))
  return mailbox.waiting.some((request) => request.number === number)
}

/** Keeps what became of a request. */
export async function writePushed(state: State, id: string, pushed: Pushed): Promise<void> {
  if (pushed.came === 'again' || pushed.came === 'closed') return
  const { mailbox, number } = pushed
  writeMailbox(state, mailbox)
  if (pushed.came === 'new') state.set(requestKey(number), pushed.request)
  state.set(nameKey(id), number)
  state.set(numberKey(number), id)
  const oldest = number - mostKnown
  const forgotten = oldest > 0 ? await state.get<string>(numberKey(oldest)) : null
  if (forgotten === null) return
  state.clear(nameKey(forgotten))
  state.clear(numberKey(oldest))
}

/** Requests that were answered for are gone. */
export function writeSettled(state: State, before: Mailbox, after: Mailbox): void {
  writeMailbox(state, after)
  const waits = new Set(after.waiting.map(({ number }) => number))
  for (const { number } of before.waiting) if (!waits.has(number)) state.clear(requestKey(number))
}

/** What waits behind this number, as much as one answer of the engine takes. */
export async function waitingAfter(state: Pick<State, 'get'>, mailbox: Mailbox, after: number): Promise<WaitingPage> {
  const requests: NumberedRequest[] = []
  let bytes = 0
  for (const { number } of mailbox.waiting.filter((each) => each.number > after)) {
    const request = await state.get<NumberedRequest>(requestKey(number))
    if (request === null) continue
    bytes += Buffer.byteLength(JSON.stringify(request))
    if (requests.length > 0 && bytes > mostInlineBytes) return { requests, hasMore: true }
    requests.push(request)
  }
  return { requests, hasMore: false }
}

export async function readOpening(state: Pick<State, 'get'>): Promise<Opening | undefined> {
  return (await state.get<Opening>(openingKey)) ?? undefined
}

/** The first that was said counts. */
export async function keepOpening(state: State, opening: Opening): Promise<void> {
  if ((await readOpening(state)) === undefined) state.set(openingKey, opening)
}
