import type { MessageContent } from '../model/messages.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { InboxMessage } from '../steps/control.ts'
import type { QueuedMessage } from './session.ts'

/** What a message is handed in with. */
interface HandedIn {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly skipIfMet?: boolean | undefined
}

/** What a message says of the run that begins with it. */
type OfItsRun = Pick<QueuedMessage, 'model' | 'skipIfMet'>

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
  /** What messages that wait in the engine say of the runs that begin with them. */
  readonly #ofRuns = new Map<string, OfItsRun>()
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
    return { id, content, when: kind === 'steer' ? 'next' : 'later', ...this.#ofRuns.get(id) }
  }

  /** For the run that goes on, at its next checkpoint or when it would end. Gives the id. */
  put(content: MessageContent, when: 'next' | 'later', { id, ...own }: HandedIn): string {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return id
    const given = when === 'next' ? this.#engine().steer(content, id) : this.#engine().followUp(content, id)
    const ofRun = ofItsRun(own)
    if (Object.keys(ofRun).length > 0 && this.#engine().waiting.some((each) => each.id === given))
      this.#ofRuns.set(given, ofRun)
    return given
  }

  /** For a run of its own. An id that was handed in before is passed over: `isNew` is false. */
  putOwn(content: MessageContent, { id, ...own }: HandedIn): { readonly id: string; readonly isNew: boolean } {
    if (id !== undefined && this.waiting.some((each) => each.id === id)) return { id, isNew: false }
    // The engine knows which ids were handed in, and makes new ones.
    const engine = this.#engine()
    const given = engine.steer(content, id)
    const isNew = engine.retract(given)
    const message = { id: given, content, when: 'next', ...ofItsRun(own) } as const
    if (isNew) this.#own = [...this.#own, message]
    return { id: given, isNew }
  }

  /** Another engine takes the place of the present one, which is given: what waited there waits in the new one. */
  moveFrom(before: QueryEngine): void {
    for (const { id, kind, content } of before.waiting)
      this.put(content, kind === 'steer' ? 'next' : 'later', { id, ...this.#ofRuns.get(id) })
  }

  /** A run that goes on has taken it. Gives what it said of a run of its own. */
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

function ofItsRun({ model, skipIfMet }: Omit<HandedIn, 'id'>): OfItsRun {
  return { ...(model !== undefined && { model }), ...(skipIfMet !== undefined && { skipIfMet }) }
}
