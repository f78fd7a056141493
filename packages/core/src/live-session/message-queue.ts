import type { MessageContent } from '../model/messages.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { InboxMessage } from '../steps/external-input.ts'
import type { QueuedMessage } from './session.ts'

/** Options of a submitted message. */
interface MessageOptions {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly skipIfMet?: boolean | undefined
}

/** Options of a message for the run that starts with it. */
type RunOptionsOfMessage = Pick<QueuedMessage, 'model' | 'skipIfMet'>

/** A cached list of waiting messages, and what it was derived from. */
interface CachedList {
  readonly ownRunMessages: readonly QueuedMessage[]
  readonly engineMessages: readonly InboxMessage[]
  readonly all: readonly QueuedMessage[]
}

/**
 * Messages that no run has received. Messages for the current run wait in the engine. Messages that start a separate run
 * wait in this queue, where no run receives them. Each message is in exactly one of the two.
 */
export class MessageQueue {
  readonly #engine: () => QueryEngine
  #ownRunMessages: readonly QueuedMessage[] = []
  /** Options of the messages in the engine, for the runs that start with them. */
  readonly #runOptions = new Map<string, RunOptionsOfMessage>()
  #cached: CachedList | undefined

  constructor(engine: () => QueryEngine) {
    this.#engine = engine
  }

  /** The same array until the waiting messages change. */
  get waiting(): readonly QueuedMessage[] {
    const engineMessages = this.#engine().waiting
    if (this.#cached?.ownRunMessages !== this.#ownRunMessages || this.#cached.engineMessages !== engineMessages)
      this.#cached = {
        ownRunMessages: this.#ownRunMessages,
        engineMessages,
        all: [...this.#ownRunMessages, ...engineMessages.map((each) => this.#queued(each))],
      }
    return this.#cached.all
  }

  #queued({ id, kind, content }: InboxMessage): QueuedMessage {
    return { id, content, when: kind === 'steer' ? 'next' : 'later', ...this.#runOptions.get(id) }
  }

  /** Adds a message for the current run, at its next cancellation point or when it would end. Returns the id. */
  put(content: MessageContent, when: 'next' | 'later', { id, ...options }: MessageOptions): string {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return id
    const newId = when === 'next' ? this.#engine().steer(content, id) : this.#engine().followUp(content, id)
    const runOptions = runOptionsOf(options)
    if (Object.keys(runOptions).length > 0 && this.#engine().waiting.some((each) => each.id === newId))
      this.#runOptions.set(newId, runOptions)
    return newId
  }

  /** Adds a message that starts a separate run. An id that was used before is ignored: `isNew` is false. */
  putForOwnRun(
    content: MessageContent,
    { id, ...options }: MessageOptions,
  ): { readonly id: string; readonly isNew: boolean } {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return { id, isNew: false }
    // The engine knows which ids are in use, and creates new ones.
    const engine = this.#engine()
    const newId = engine.steer(content, id)
    const isNew = engine.retract(newId)
    const message = { id: newId, content, when: 'next', ...runOptionsOf(options) } as const
    if (isNew) this.#ownRunMessages = [...this.#ownRunMessages, message]
    return { id: newId, isNew }
  }

  /** Moves the messages that wait in the previous engine to the new one. */
  moveFrom(before: QueryEngine): void {
    for (const { id, kind, content } of before.waiting)
      this.put(content, kind === 'steer' ? 'next' : 'later', { id, ...this.#runOptions.get(id) })
  }

  /** Called when the current run has received the message. Returns its options for a separate run. */
  taken(id: string): RunOptionsOfMessage {
    const runOptions = this.#runOptions.get(id) ?? {}
    this.#runOptions.delete(id)
    return runOptions
  }

  retract(id: string): boolean {
    const others = this.#ownRunMessages.filter((each) => each.id !== id)
    const isRetracted = others.length < this.#ownRunMessages.length || this.#engine().retract(id)
    this.#ownRunMessages = others
    if (isRetracted) this.#runOptions.delete(id)
    return isRetracted
  }

  /** Removes and returns the message that starts the next run. */
  takeFirst(): QueuedMessage | undefined {
    const [first] = this.waiting
    if (first !== undefined) this.retract(first.id)
    return first
  }

  /** Removes and returns all messages except those that a run is recording. */
  takeAll(): readonly QueuedMessage[] {
    return this.waiting.filter(({ id }) => this.retract(id))
  }
}

function runOptionsOf({ model, skipIfMet }: Omit<MessageOptions, 'id'>): RunOptionsOfMessage {
  return { ...(model !== undefined && { model }), ...(skipIfMet !== undefined && { skipIfMet }) }
}
