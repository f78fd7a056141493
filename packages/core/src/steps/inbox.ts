import { messageContentOf } from '../model/content.ts'
import { isName } from '../values/validators.ts'
import type { MessageContent } from '../model/messages.ts'
import { mergeChanges, type SettingsChange } from '../state/settings-change.ts'
import type { InboxMessage } from './external-input.ts'
import type { StopSignal, StopSignalJson } from '../endings/signal.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'

/** Messages and stop requests that people submit during a run. The loop receives them only through `StepEngine.control`, so that each is recorded. */
export interface Inbox {
  /** Removes and returns steering messages, and with `all` follow-ups, too. Undefined when there are none. These messages cannot be retracted any more. */
  takeMessages(all: boolean): readonly InboxMessage[] | undefined
  /** Marks these messages as received, since this or an earlier process has recorded them. They are ignored if they are submitted again. */
  markTaken(messages: readonly InboxMessage[]): void
  takeSignals(): readonly StopSignalJson[] | undefined
  /** Removes and returns the settings since the last call, merged into one change. */
  takeSettings(): SettingsChange | undefined
  /** Settings that no run has received yet. */
  readonly settings: SettingsChange | undefined
  /** Whether a stop request is waiting. */
  readonly isStopping: boolean
  /** Whether a message that a run receives when it would end, or a stop request, is waiting. */
  readonly hasAny: boolean
  /** Calls back when a message or a stop request arrives. Returns a function that unsubscribes. */
  onArrival(listener: () => void): () => void
  /** Calls back when a setting changes. Returns a function that unsubscribes. */
  onSettings(listener: () => void): () => void
  /**
   * Calls back when a wait for a service should end: a person requests a retry, has set a model, or stops the run.
   * Returns a function that unsubscribes.
   */
  onWake(listener: WakeListener): () => void
}

/** Why a wait for a service ends early. */
type WakeReason = 'retried' | 'model' | 'stopped'

/** `model`: the model that was set; null for that of the options. */
type WakeListener = (why: WakeReason, model?: string | null) => void

/** A submitted message. */
interface SubmittedMessage {
  readonly kind: InboxMessage['kind']
  readonly content: MessageContent
  /** An id of the caller's choice. Default: a derived one. */
  readonly id?: string
}

/** An inbox for callers: shared by the runs of one session, one after another. */
export interface OpenInbox extends Inbox {
  /**
   * Submits a message and returns its id. A message whose id was used before is ignored, so that a run receives it only
   * once.
   * @throws ConfigurationError for an invalid id.
   */
  put(message: SubmittedMessage): string
  /** Withdraws a message. Returns false if a run has received it or is recording it, or the id is unknown. */
  retract(id: string): boolean
  stop(signal: StopSignal): void
  /** Ends waits for services. Returns false if there are none. */
  retryNow(): boolean
  /** Submits a validated change of the settings. */
  set(change: SettingsChange): void
  /** Messages that are not in a conversation yet, in order of arrival. A message that is being recorded is included until that is done. */
  readonly waiting: readonly InboxMessage[]
  /** Call this when a run has ended: messages that it removed but could not record are waiting again. */
  restoreUnrecorded(): void
}

/** @param idsTaken Ids of the messages that were received before this inbox was created. Called once, when the first message arrives. */
export function createInbox(idsTaken: () => Iterable<string> = () => []): OpenInbox {
  return new MessageInbox(idsTaken)
}

class MessageInbox implements OpenInbox {
  readonly #idsTaken: () => Iterable<string>
  #taken: Set<string> | undefined
  #waiting: readonly InboxMessage[] = noMessages
  /** Messages that a step engine removed and has not recorded yet. */
  #unrecorded: readonly InboxMessage[] = noMessages
  #signals: StopSignalJson[] | undefined
  #settings: SettingsChange | undefined
  #lastNumber = 0
  #listeners: Set<() => void> | undefined
  #settingsListeners: Set<() => void> | undefined
  #waiters: Set<WakeListener> | undefined

  constructor(idsTaken: () => Iterable<string>) {
    this.#idsTaken = idsTaken
  }

  get waiting(): readonly InboxMessage[] {
    return this.#unrecorded.length === 0 ? this.#waiting : [...this.#unrecorded, ...this.#waiting]
  }

  put({ kind, content, id = this.#newId() }: SubmittedMessage): string {
    isName('The id of a message', id)
    if (this.#isKnown(id)) return id
    this.#waiting = [...this.#waiting, { id, kind, content: messageContentOf(content) }]
    this.#notifyArrival()
    return id
  }

  retract(id: string): boolean {
    const others = excluding(this.#waiting, new Set([id]))
    const isFound = others.length < this.#waiting.length
    this.#waiting = others
    return isFound
  }

  stop(signal: StopSignal): void {
    ;(this.#signals ??= []).push(signal.toJSON())
    this.#notifyArrival()
    this.#wake('stopped')
  }

  retryNow(): boolean {
    return this.#wake('retried')
  }

  onWake(listener: WakeListener): () => void {
    const waiters = (this.#waiters ??= new Set())
    waiters.add(listener)
    // A stop request may have arrived before the wait began; it ends the wait immediately.
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

  #notifyArrival(): void {
    for (const listener of this.#listeners ?? []) listener()
  }

  get settings(): SettingsChange | undefined {
    return this.#settings
  }

  set(change: SettingsChange): void {
    this.#settings = mergeChanges(this.#settings, change)
    for (const listener of this.#settingsListeners ?? []) listener()
    if (change.model !== undefined) this.#wake('model', change.model)
  }

  takeMessages(all: boolean): readonly InboxMessage[] | undefined {
    if (this.#waiting.length === 0) return undefined
    const taken = all ? this.#waiting : this.#waiting.filter(({ kind }) => kind === 'steer')
    if (taken.length === 0) return undefined
    this.#waiting = all ? noMessages : this.#waiting.filter(({ kind }) => kind !== 'steer')
    this.#unrecorded = [...this.#unrecorded, ...taken]
    return taken
  }

  markTaken(messages: readonly InboxMessage[]): void {
    const ids = new Set(messages.map(({ id }) => id))
    for (const id of ids) this.#takenIds().add(id)
    this.#waiting = excluding(this.#waiting, ids)
    this.#unrecorded = excluding(this.#unrecorded, ids)
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

  restoreUnrecorded(): void {
    if (this.#unrecorded.length === 0) return
    this.#waiting = [...this.#unrecorded, ...this.#waiting]
    this.#unrecorded = noMessages
  }

  #takenIds(): Set<string> {
    return (this.#taken ??= new Set(this.#idsTaken()))
  }

  #isKnown(id: string): boolean {
    const hasId = (message: InboxMessage): boolean => message.id === id
    return this.#takenIds().has(id) || this.#waiting.some(hasId) || this.#unrecorded.some(hasId)
  }

  /** The next number whose id is free, because core generates no random numbers. */
  #newId(): string {
    let id: string
    do id = `message${++this.#lastNumber}`
    while (this.#isKnown(id))
    return id
  }
}

const noMessages: readonly InboxMessage[] = Object.freeze([])

function excluding(messages: readonly InboxMessage[], ids: ReadonlySet<string>): readonly InboxMessage[] {
  return messages.length === 0 ? messages : messages.filter(({ id }) => !ids.has(id))
}

/** Ids of the submitted messages among these entries. */
export function inboxIdsOf(entries: Iterable<TranscriptEntry>): readonly string[] {
  const ids: string[] = []
  for (const entry of entries) if (entry.kind === 'user' && entry.inboxId !== undefined) ids.push(entry.inboxId)
  return ids
}

/**
 * The inbox of a subagent. Submitted messages go to the main loop, so a subagent receives none. Waits of subagents end
 * like those of the main loop, but a change of the model does not apply to subagents.
 */
export function inboxOfAgent(inbox: Inbox): Inbox {
  return {
    takeMessages: () => undefined,
    markTaken: () => {},
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
