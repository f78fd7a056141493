import { whenIdle, type NamedRequest, type NumberedRequest, type SessionRequest } from './messages.ts'

/** State of the object that holds a session's requests. The requests and their ids are stored separately (mailbox-state.ts). */
export interface Mailbox {
  /** The number of the next request. */
  readonly next: number
  /** Requests that the session has not settled yet, in order. */
  readonly waiting: readonly WaitingRequest[]
  /** The invocation that works at the session; null from its call until it begins. Absent while nothing works. */
  readonly worker?: string | null
  /** Whether no more requests are accepted. */
  readonly isClosed?: true
  /** Awakeables to resolve when a request is settled. */
  readonly listeners?: readonly string[]
  /** Clients to wake at any change, the newest last. */
  readonly watchers?: readonly Watcher[]
  /** The invocation that was notified of the watchers: it wakes them at its next change. */
  readonly watched?: string
}

interface Watcher {
  readonly by: string
  readonly awakeable: string
}

/** Maximum number of watchers. Others are not woken, and poll again by themselves. */
export const maxWatchers = 200

interface WaitingRequest {
  readonly number: number
  readonly type: SessionRequest['type']
}

export const emptyMailbox: Mailbox = Object.freeze({ next: 1, waiting: [] })

/** Outcome of a push. A request keeps its number and id even if it has no effect now, so the same id has no effect later. */
export type PushOutcome =
  | { readonly kind: 'again' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'moot'; readonly mailbox: Mailbox; readonly number: number }
  | {
      readonly kind: 'new'
      readonly mailbox: Mailbox
      readonly number: number
      readonly request: NumberedRequest
      /** Whether no worker is at work, so that the session must be called. */
      readonly call: boolean
    }

/**
 * Adds a request; `isKnown`: whether its id was used before. M1: an id counts once. M2: while a request that begins work
 * waits, a worker is at work or was called. M3: numbers increase by one. M4: after `close`, nothing new is accepted.
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

/** Records that an invocation begins to work at the session. The invocation ends at once if nothing waits, for example after the session was removed. */
export function begin(mailbox: Mailbox, invocation: string): Mailbox {
  return mailbox.waiting.length === 0 ? mailbox : { ...mailbox, worker: invocation }
}

/** Settles all requests up to this number. Later ones wait. If none of them begins work, the worker is done, and requests meant for the earlier run have no effect. */
export function settle(mailbox: Mailbox, upTo: number): Mailbox {
  const waiting = mailbox.waiting.filter(({ number }) => number > upTo)
  if (waiting.some(({ type }) => whenIdle({ type }) === 'begins')) return { ...mailbox, waiting }
  const { worker: _worker, ...idle } = mailbox
  return { ...idle, waiting: waiting.filter(({ type }) => whenIdle({ type }) !== 'moot') }
}

/** Registers a caller that waits until a request is settled. */
export function listen(mailbox: Mailbox, listener: string): Mailbox {
  return { ...mailbox, listeners: [...(mailbox.listeners ?? []), listener] }
}

/**
 * Registers a watcher of any change. `notify`: the invocation to notify, unless it was notified since it last woke the watchers.
 * M5: each watcher is woken by the mailbox itself, or the work knows of it, or a wake is on its way.
 */
export function watch(
  mailbox: Mailbox,
  { by, awakeable }: Watcher,
): { readonly mailbox: Mailbox; readonly notify: string | undefined } {
  const others = (mailbox.watchers ?? []).filter((watcher) => watcher.by !== by)
  const watchers = [...others, { by, awakeable }].slice(-maxWatchers)
  return withWatchNotice({ ...mailbox, watchers })
}

/** Removes a watcher. */
export function unwatch(mailbox: Mailbox, by: string): Mailbox {
  const { watchers = [], ...without } = mailbox
  const others = watchers.filter((watcher) => watcher.by !== by)
  return others.length === 0 ? without : { ...without, watchers: others }
}

/** Whether the session has never had a request, and nobody watches it. */
export function isEmpty({ next, waiting, worker, isClosed, listeners, watchers, watched }: Mailbox): boolean {
  const others = [worker, isClosed, listeners, watchers, watched]
  return next === emptyMailbox.next && waiting.length === 0 && others.every((each) => each === undefined)
}

/** Marks the work as notified of the watchers, and returns which invocation to notify. */
export function withWatchNotice(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly notify: string | undefined } {
  const { worker, watched, watchers } = mailbox
  if (watchers === undefined || typeof worker !== 'string' || watched === worker) return { mailbox, notify: undefined }
  return { mailbox: { ...mailbox, watched: worker }, notify: worker }
}

/** Removes all watchers, and returns their awakeables. */
export function wakeWatchers(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly awakeables: readonly string[] } {
  const { watchers = [], watched: _watched, ...without } = mailbox
  return { mailbox: without, awakeables: watchers.map(({ awakeable }) => awakeable) }
}

/** Removes all listeners, and returns them. */
export function wake(mailbox: Mailbox): { readonly mailbox: Mailbox; readonly listeners: readonly string[] } {
  const { listeners = [], ...without } = mailbox
  return { mailbox: without, listeners }
}
