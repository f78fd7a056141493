import { messageContentOf } from '../model/content.ts'
import { isName } from '../values/given.ts'
import type { MessageContent } from '../model/messages.ts'
import { bothChanges, type SettingsChange } from '../state/settings-change.ts'
import type { InboxMessage } from './control.ts'
import type { StopSignal, StopSignalJson } from '../endings/signal.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'

/**
 * What people hand in while a run goes on: messages, and requests to stop at the next checkpoint.
 * Taken from by `StepEngine.control` only, so that what was taken is on record.
 */
export interface Inbox {
  /** Steering messages; with `all` the follow-ups too. Undefined when there are none. They cannot be retracted any more. */
  takeMessages(all: boolean): readonly InboxMessage[] | undefined
  /** These are on record as taken, by this process or by one before it: handed in again they are passed over. */
  enterTaken(messages: readonly InboxMessage[]): void
  takeSignals(): readonly StopSignalJson[] | undefined
  /** What was set since it was last asked for, as one change. */
  takeSettings(): SettingsChange | undefined
  /** What was set and no run has taken. */
  readonly settings: SettingsChange | undefined
  /** A stop waits to be taken. */
  readonly isStopping: boolean
  /** Messages wait that a run takes when it would end, or a stop does. */
  readonly hasAny: boolean
  /** Calls back when a message or a stop comes. Gives the way to be called no more. */
  onArrival(listener: () => void): () => void
  /** Calls back when something is set. Gives the way to be called no more. */
  onSettings(listener: () => void): () => void
  /** Calls back when a wait for a service is to end: a person wants a retry now, has set a model, or has the run stop. Gives the way to be called no more. */
  onWake(listener: WakeListener): () => void
}

/** Why a wait for a service ends before its time. */
type WakeReason = 'retried' | 'model' | 'stopped'

/** `model`: what was set, of `model`; null for that of the options. */
type WakeListener = (why: WakeReason, model?: string | null) => void

/** A message as it is handed in. */
interface HandedInMessage {
  readonly kind: InboxMessage['kind']
  readonly content: MessageContent
  /** A name of the caller's own; one is derived when absent. */
  readonly id?: string
}

/** An inbox that can be put into: shared by the runs of one session, one after another. */
export interface OpenInbox extends Inbox {
  /**
   * Hands a message in and gives its id. One whose id was handed in before is passed over: it is taken once.
   * @throws ConfigurationError for an id that is no text.
   */
  put(message: HandedInMessage): string
  /** Takes a message back. False when it is too late: a run takes it, or has; and when none of this id was handed in. */
  retract(id: string): boolean
  stop(signal: StopSignal): void
  /** Ends waits for services. False where there are none. */
  retryNow(): boolean
  /** Hands in a change of the settings, which was looked at before. */
  set(change: SettingsChange): void
  /** Messages that are in no conversation yet, in the order in which they came. One that is being put on record is among them until it is. */
  readonly waiting: readonly InboxMessage[]
  /** A run ended: what it took and could not put on record waits again. */
  giveBack(): void
}

/**
 * @param idsTaken Ids that were taken before this inbox was made. Asked for once, when the first message comes.
 */
export function createInbox(idsTaken: () => Iterable<string> = () => []): OpenInbox {
  return new MessageInbox(idsTaken)
}

class MessageInbox implements OpenInbox {
  readonly #idsTaken: () => Iterable<string>
  #taken: Set<string> | undefined
  #waiting: readonly InboxMessage[] = noMessages
  /** Given to a driver that has not put them on record yet. */
  #beingTaken: readonly InboxMessage[] = noMessages
  #signals: StopSignalJson[] | undefined
  #settings: SettingsChange | undefined
  #derived = 0
  #listeners: Set<() => void> | undefined
  #settingsListeners: Set<() => void> | undefined
  #waiters: Set<WakeListener> | undefined

  constructor(idsTaken: () => Iterable<string>) {
    this.#idsTaken = idsTaken
  }

  get waiting(): readonly InboxMessage[] {
    return this.#beingTaken.length === 0 ? this.#waiting : [...this.#beingTaken, ...this.#waiting]
  }

  put({ kind, content, id = this.#newId() }: HandedInMessage): string {
    isName('The id of a message', id)
    if (this.#isKnown(id)) return id
    this.#waiting = [...this.#waiting, { id, kind, content: messageContentOf(content) }]
    this.#arrived()
    return id
  }

  retract(id: string): boolean {
    const others = without(this.#waiting, new Set([id]))
    const isFound = others.length < this.#waiting.length
    this.#waiting = others
    return isFound
  }

  stop(signal: StopSignal): void {
    ;(this.#signals ??= []).push(signal.toJSON())
    this.#arrived()
    this.#wake('stopped')
  }

  retryNow(): boolean {
    return this.#wake('retried')
  }

  onWake(listener: WakeListener): () => void {
    const waiters = (this.#waiters ??= new Set())
    waiters.add(listener)
    // What came before it waited is taken by nobody while it waits.
    if (this.#signals !== undefined) listener('stopped')
    else if (this.#settings?.model !== undefined) listener('model', this.#settings.model)
    return () => waiters.delete(listener)
  }

  #wake(why: WakeReason, model?: string | null): boolean {
    const waiters = [...(this.#waiters ?? [])]
    for (const waiter of waiters) waiter(why, model)
    return waiters.length > 0
  }

  get isStopping(): boolean {
    return this.#signals !== undefined
  }

  get hasAny(): boolean {
    return this.#waiting.length > 0 || this.#signals !== undefined
  }

  onArrival(listener: () => void): () => void {
    const listeners = (this.#listeners ??= new Set())
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  onSettings(listener: () => void): () => void {
    const listeners = (this.#settingsListeners ??= new Set())
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  #arrived(): void {
    for (const listener of this.#listeners ?? []) listener()
  }

  get settings(): SettingsChange | undefined {
    return this.#settings
  }

  set(change: SettingsChange): void {
    this.#settings = bothChanges(this.#settings, change)
    for (const listener of this.#settingsListeners ?? []) listener()
    if (change.model !== undefined) this.#wake('model', change.model)
  }

  takeMessages(all: boolean): readonly InboxMessage[] | undefined {
    if (this.#waiting.length === 0) return undefined
    const taken = all ? this.#waiting : this.#waiting.filter(({ kind }) => kind === 'steer')
    if (taken.length === 0) return undefined
    this.#waiting = all ? noMessages : this.#waiting.filter(({ kind }) => kind !== 'steer')
    this.#beingTaken = [...this.#beingTaken, ...taken]
    return taken
  }

  enterTaken(messages: readonly InboxMessage[]): void {
    const ids = new Set(messages.map(({ id }) => id))
    for (const id of ids) this.#known().add(id)
    this.#waiting = without(this.#waiting, ids)
    this.#beingTaken = without(this.#beingTaken, ids)
  }

  takeSignals(): readonly StopSignalJson[] | undefined {
    const taken = this.#signals
    this.#signals = undefined
    return taken
  }

  takeSettings(): SettingsChange | undefined {
    const taken = this.#settings
    this.#settings = undefined
    return taken
  }

  giveBack(): void {
    if (this.#beingTaken.length === 0) return
    this.#waiting = [...this.#beingTaken, ...this.#waiting]
    this.#beingTaken = noMessages
  }

  #known(): Set<string> {
    return (this.#taken ??= new Set(this.#idsTaken()))
  }

  #isKnown(id: string): boolean {
    const isOfThis = (message: InboxMessage): boolean => message.id === id
    return this.#known().has(id) || this.#waiting.some(isOfThis) || this.#beingTaken.some(isOfThis)
  }

  /** Core draws no random numbers: the next number whose name nobody has. */
  #newId(): string {
    let id: string
    do id = `message${++this.#derived}`
    while (this.#isKnown(id))
    return id
  }
}

const noMessages: readonly InboxMessage[] = Object.freeze([])

function without(messages: readonly InboxMessage[], ids: ReadonlySet<string>): readonly InboxMessage[] {
  return messages.length === 0 ? messages : messages.filter(({ id }) => !ids.has(id))
}

/** Ids of the messages that are among these entries because they were handed in. */
export function inboxIdsOf(entries: Iterable<TranscriptEntry>): readonly string[] {
  const ids: string[] = []
  for (const entry of entries) if (entry.kind === 'user' && entry.inboxId !== undefined) ids.push(entry.inboxId)
  return ids
}

/** For subagents: what people hand in goes to the main loop. A wait of theirs is ended as one of its own; another model is not theirs. */
export function inboxOfAgent(inbox: Inbox): Inbox {
  return {
    takeMessages: () => undefined,
    enterTaken: () => {},
    takeSignals: () => undefined,
    takeSettings: () => undefined,
    settings: undefined,
    isStopping: false,
    hasAny: false,
    onArrival: () => () => {},
    onSettings: () => () => {},
    onWake: (listener) => inbox.onWake((why) => (why === 'model' ? undefined : listener(why))),
  }
}
