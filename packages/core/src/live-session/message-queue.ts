import type { MessageContent } from '../model/messages.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { InboxMessage } from '../steps/control.ts'
import type { QueuedMessage } from './session.ts'

/** Options of a submitted message. */
interface HandedIn {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly skipIfMet?: boolean | undefined
}

/** Options of a message for the run that starts with it. */
type OfItsRun = Pick<QueuedMessage, 'model' | 'skipIfMet'>

/** A cached list of waiting messages, and what it was derived from. */
interface Shown {
  readonly own: readonly QueuedMessage[]
  readonly ofEngine: readonly InboxMessage[]
  readonly all: readonly QueuedMessage[]
}

/**
 * Messages that no run has taken. Messages for the current run wait in the engine. Messages for a run of their own wait
 * here, where no run takes them. Each message is in exactly one of the two.
 */
export class MessageQueue {
  readonly #engine: () => QueryEngine
  #own: readonly QueuedMessage[] = []
  /** Options of the messages in the engine, for the runs that start with them. */
  readonly #ofRuns = new Map<string, OfItsRun>()
  #shown: Shown | undefined

  constructor(engine: () => QueryEngine) {
    this.#engine = engine
  }

  /** The same array until the waiting messages change. */
  get waiting(): readonly QueuedMessage[] {
    const ofEngine = this.#engine().waiting
    if (this.#shown?.own !== this.#own || this.#shown.ofEngine !== ofEngine)
      this.#shown = { own: this.#own, ofEngine, all: [...this.#own, ...ofEngine.map((each) => this.#queued(each))] }
    return this.#shown.all
  }

  #queued({ id, kind, content }: InboxMessage): QueuedMessage {
    return { id, content, when: kind === 'steer' ? 'next' : 'later', ...this.#ofRuns.get(id) }
  }

  /** Adds a message for the current run, at its next cancellation point or when it would end. Returns the id. */
  put(content: MessageContent, when: 'next' | 'later', { id, ...own }: HandedIn): string {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return id
    const given = when === 'next' ? this.#engine().steer(content, id) : this.#engine().followUp(content, id)
    const ofRun = ofItsRun(own)
    if (Object.keys(ofRun).length > 0 && this.#engine().waiting.some((each) => each.id === given))
      this.#ofRuns.set(given, ofRun)
    return given
  }

  /** Adds a message for a run of its own. An id that was used before is ignored: `isNew` is false. */
  putOwn(content: MessageContent, { id, ...own }: HandedIn): { readonly id: string; readonly isNew: boolean } {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return { id, isNew: false }
    // The engine knows which ids are in use, and creates new ones.
    const engine = this.#engine()
    const given = engine.steer(content, id)
    const isNew = engine.retract(given)
    const message = { id: given, content, when: 'next', ...ofItsRun(own) } as const
    if (isNew) this.#own = [...this.#own, message]
    return { id: given, isNew }
  }

  /** Moves the messages that wait in the previous engine to the new one. */
  moveFrom(before: QueryEngine): void {
    for (const { id, kind, content } of before.waiting)
      this.put(content, kind === 'steer' ? 'next' : 'later', { id, ...this.#ofRuns.get(id) })
  }

  /** The current run has taken the message. Returns its options for a run of its own. */
  taken(id: string): OfItsRun {
    const ofRun = this.#ofRuns.get(id) ?? {}
    this.#ofRuns.delete(id)
    return ofRun
  }

  retract(id: string): boolean {
    const others = this.#own.filter((each) => each.id !== id)
    const isTakenBack = others.length < this.#own.length || this.#engine().retract(id)
    this.#own = others
    if (isTakenBack) this.#ofRuns.delete(id)
    return isTakenBack
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

function ofItsRun({ model, skipIfMet }: Omit<HandedIn, 'id'>): OfItsRun {
  return { ...(model !== undefined && { model }), ...(skipIfMet !== undefined && { skipIfMet }) }
}
