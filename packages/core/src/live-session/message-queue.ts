import type { MessageContent } from '../messages.ts'
import type { QueryEngine } from '../engine.ts'
import type { InboxMessage } from '../steps/control.ts'
import type { QueuedMessage } from './session.ts'

/** What a message is handed in with. */
interface HandedIn {
  readonly id?: string | undefined
  readonly model?: string | undefined
}

/** What waits, and of what it was made. */
interface Shown {
  readonly own: readonly QueuedMessage[]
  readonly ofEngine: readonly InboxMessage[]
  readonly all: readonly QueuedMessage[]
}

/**
 * Messages that no run has taken. Those that a run may take wait in the engine; those that begin a run of their own wait here, where none takes them.
 * A message is in one of both, once.
 */
export class MessageQueue {
  readonly #engine: () => QueryEngine
  #own: readonly QueuedMessage[] = []
  /** The models of messages that wait in the engine, for the runs that begin with them. */
  readonly #models = new Map<string, string>()
  #shown: Shown | undefined

  constructor(engine: () => QueryEngine) {
    this.#engine = engine
  }

  /** The same array until another message waits. */
  get waiting(): readonly QueuedMessage[] {
    const ofEngine = this.#engine().waiting
    if (this.#shown?.own !== this.#own || this.#shown.ofEngine !== ofEngine)
      this.#shown = { own: this.#own, ofEngine, all: [...this.#own, ...ofEngine.map((each) => this.#queued(each))] }
    return this.#shown.all
  }

  #queued({ id, kind, content }: InboxMessage): QueuedMessage {
    const model = this.#models.get(id)
    return { id, content, when: kind === 'steer' ? 'next' : 'later', ...(model !== undefined && { model }) }
  }

  /** For the run that goes on, at its next checkpoint or when it would end. Gives the id. */
  put(content: MessageContent, when: 'next' | 'later', { id, model }: HandedIn): string {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return id
    const given = when === 'next' ? this.#engine().steer(content, id) : this.#engine().followUp(content, id)
    if (model !== undefined && this.#engine().waiting.some((each) => each.id === given)) this.#models.set(given, model)
    return given
  }

  /** For a run of its own. An id that was handed in before is passed over: `isNew` is false. */
  putOwn(content: MessageContent, { id, model }: HandedIn): { readonly id: string; readonly isNew: boolean } {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return { id, isNew: false }
    // The engine knows which ids were handed in, and makes new ones.
    const engine = this.#engine()
    const given = engine.steer(content, id)
    const isNew = engine.retract(given)
    const message = { id: given, content, when: 'next', ...(model !== undefined && { model }) } as const
    if (isNew) this.#own = [...this.#own, message]
    return { id: given, isNew }
  }

  /** Another engine takes the place of the present one, which is given: what waited there waits in the new one. */
  moveFrom(before: QueryEngine): void {
    for (const { id, kind, content } of before.waiting)
      this.put(content, kind === 'steer' ? 'next' : 'later', { id, model: this.#models.get(id) })
  }

  /** A run that goes on has taken it. Gives the model that it was for. */
  taken(id: string): string | undefined {
    const model = this.#models.get(id)
    this.#models.delete(id)
    return model
  }

  retract(id: string): boolean {
    const others = this.#own.filter((each) => each.id !== id)
    const isTakenBack = others.length < this.#own.length || this.#engine().retract(id)
    this.#own = others
    if (isTakenBack) this.#models.delete(id)
    return isTakenBack
  }

  /** The one that begins the next run; it waits no more. */
  takeFirst(): QueuedMessage | undefined {
    const [first] = this.waiting
    if (first !== undefined) this.retract(first.id)
    return first
  }

  /** All but those that a run is just putting on record. */
  takeAll(): readonly QueuedMessage[] {
    return this.waiting.filter(({ id }) => this.retract(id))
  }
}
