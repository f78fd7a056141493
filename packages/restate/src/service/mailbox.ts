import { whenIdle, type NamedRequest, type NumberedRequest, type SessionRequest } from './messages.ts'

/** What the object of a session's requests goes by. What the requests say, and the names that came, it keeps beside (mailbox-state.ts). */
export interface Mailbox {
  /** The number of the next request. */
  readonly next: number
  /** Requests that the session has not answered for yet, in their order. */
  readonly waiting: readonly WaitingRequest[]
  /** Who works at the session: its invocation, or null from when it was called until it is there. Absent while nobody does. */
  readonly worker?: string | null
  /** Nothing more is taken. */
  readonly isClosed?: true
  /** Who is to be woken when something is answered for. */
  readonly listeners?: readonly string[]
  /** Who is to be woken at any change; those who came last are the last. */
  readonly watchers?: readonly Watcher[]
  /** The invocation that has been sent word of them: it wakes them at its next change. */
  readonly watched?: string
}

interface Watcher {
  readonly by: string
  readonly awakeable: string
}

/** So many are kept. Who is not is not woken, and looks again by itself. */
export const maxWatchers = 200

interface WaitingRequest {
  readonly number: number
  readonly type: SessionRequest['type']
}

export const emptyMailbox: Mailbox = Object.freeze({ next: 1, waiting: [] })

/** What becomes of a request. Its number is that of its name, also where it means nothing now: under that name it means nothing later. */
export type PushOutcome =
  | { readonly kind: 'again' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'moot'; readonly mailbox: Mailbox; readonly number: number }
  | {
      readonly kind: 'new'
      readonly mailbox: Mailbox
      readonly number: number
      readonly request: NumberedRequest
      /** Nobody works at the session: it has to be called. */
      readonly call: boolean
    }

/**
 * A request comes; `isKnown` says that one of its name came before.
 * M1: a name counts once. M2: as long as a request waits that begins work, somebody works at the session or was called. M3: numbers go up by one. M4: after `close`
 * nothing new is taken.
 */
export function push(mailbox: Mailbox, { id, request }: NamedRequest, isKnown: boolean): PushOutcome {
  if (isKnown) return { kind: 'again' }
  if (mailbox.isClosed === true) return { kind: 'closed' }
  const number = mailbox.next
  const numbered: Mailbox = { ...mailbox, next: number + 1, ...(request.type === 'close' && { isClosed: true }) }
  const isIdle = mailbox.worker === undefined
  const meaning = isIdle ? whenIdle(request) : 'begins'
  if (meaning === 'moot') return { kind: 'moot', mailbox: numbered, number }
  const call = isIdle && meaning === 'begins'
  const waiting = [...mailbox.waiting, { number, type: request.type }]
  return {
    kind: 'new',
    mailbox: { ...numbered, waiting, ...(call && { worker: null }) },
    number,
    request: { id, request, number },
    call,
  }
}

/** An invocation begins to work at the session; it ends at once where nothing waits, as after the session was removed. */
export function begin(mailbox: Mailbox, invocation: string): Mailbox {
  return mailbox.waiting.length === 0 ? mailbox : { ...mailbox, worker: invocation }
}

/**
 * All up to this number is answered for. What came since waits; where nothing does, nobody works at the session any more, and what was meant for the run that went on
 * means nothing.
 */
export function settle(mailbox: Mailbox, upTo: number): Mailbox {
  const waiting = mailbox.waiting.filter(({ number }) => number > upTo)
  if (waiting.some(({ type }) => whenIdle({ type }) === 'begins')) return { ...mailbox, waiting }
  const { worker: _worker, ...idle } = mailbox
  return { ...idle, waiting: waiting.filter(({ type }) => whenIdle({ type }) !== 'moot') }
}

/** Somebody waits until something is answered for. */
export function listen(mailbox: Mailbox, listener: string): Mailbox {
  return { ...mailbox, listeners: [...(mailbox.listeners ?? []), listener] }
}

/**
 * Somebody waits for any change. `tell`: the invocation that has to be sent word of it, since it has not been since it woke somebody last.
 * M5: who watches is woken by the mailbox itself, or the work has word of it, or a wake is under way.
 */
export function watch(
  mailbox: Mailbox,
  { by, awakeable }: Watcher,
): { readonly mailbox: Mailbox; readonly tell: string | undefined } {
  const others = (mailbox.watchers ?? []).filter((watcher) => watcher.by !== by)
  const watchers = [...others, { by, awakeable }].slice(-maxWatchers)
  return withWatchNotice({ ...mailbox, watchers })
}

/** Somebody watches no more. */
export function unwatch(mailbox: Mailbox, by: string): Mailbox {
  const { watchers = [], ...without } = mailbox
  const others = watchers.filter((watcher) => watcher.by !== by)
  return others.length === 0 ? without : { ...without, watchers: others }
}

/** Nothing was ever asked of the session, and nobody watches. */
export function isEmpty({ next, waiting, worker, isClosed, listeners, watchers, watched }: Mailbox): boolean {
  const others = [worker, isClosed, listeners, watchers, watched]
  return next === emptyMailbox.next && waiting.length === 0 && others.every((each) => each === undefined)
}

/** The work that begins is sent word of those who watch. */
export function withWatchNotice(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly tell: string | undefined } {
  const { worker, watched, watchers } = mailbox
  if (watchers === undefined || typeof worker !== 'string' || watched === worker) return { mailbox, tell: undefined }
  return { mailbox: { ...mailbox, watched: worker }, tell: worker }
}

/** Those who watch are woken, once. */
export function wakeWatchers(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly awakeables: readonly string[] } {
  const { watchers = [], watched: _watched, ...without } = mailbox
  return { mailbox: without, awakeables: watchers.map(({ awakeable }) => awakeable) }
}

/** Those who wait are woken, once. */
export function wake(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly listeners: readonly string[] } {
  const { listeners = [], ...without } = mailbox
  return { mailbox: without, listeners }
}
