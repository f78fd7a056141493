import type { MessageContent, QueryEngine } from '@halting/core'
import type { QueuedMessage } from './session.ts'

/**
 * Messages that no run has taken. Those that a run may take wait in the engine; those that begin a run of their own wait here, where none takes them.
 * A message is in one of both, once.
 */
export class MessageQueue {
  readonly #engine: () => QueryEngine
  #own: readonly QueuedMessage[] = []

  constructor(engine: () => QueryEngine) {
    this.#engine = engine
  }

  get waiting(): readonly QueuedMessage[] {
    const ofEngine = this.#engine().waiting.map(({ id, kind, content }) => ({
      id,
      content,
      when: kind === 'steer' ? ('next' as const) : ('later' as const),
    }))
    return [...this.#own, ...ofEngine]
  }

  /** For the run that goes on, at its next checkpoint or when it would end. Gives the id. */
  put(content: MessageContent, when: 'next' | 'later', id: string | undefined): string {
    if (id !== undefined && this.#own.some((each) => each.id === id)) return id
    return when === 'next' ? this.#engine().steer(content, id) : this.#engine().followUp(content, id)
  }

  /** For a run of its own. An id that was handed in before is passed over: `isNew` is false. */
  putOwn(content: MessageContent, id: string | undefined): { readonly id: string; readonly isNew: boolean } {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return { id, isNew: false }
    // The engine knows which ids were handed in, and makes new ones.
    const engine = this.#engine()
    const given = engine.steer(content, id)
    const isNew = engine.retract(given)
    if (isNew) this.#own = [...this.#own, { id: given, content, when: 'next' }]
    return { id: given, isNew }
  }

  /** Another engine takes the place of the present one, which is given: what waited there waits in the new one. */
  moveFrom(before: QueryEngine): void {
    for (const { id, kind, content } of before.waiting) this.put(content, kind === 'steer' ? 'next' : 'later', id)
  }

  retract(id: string): boolean {
    const isOwn = this.#own.some((each) => each.id === id)
    this.#own = this.#own.filter((each) => each.id !== id)
    return isOwn || this.#engine().retract(id)
  }

  /** The one that begins the next run; it waits no more. */
  takeFirst(): QueuedMessage | undefined {
    const [first] = this.waiting
    if (first !== undefined) this.retract(first.id)
    return first
  }

  takeAll(): readonly QueuedMessage[] {
    const all = this.waiting
    for (const { id } of all) this.retract(id)
    return all
  }
}
