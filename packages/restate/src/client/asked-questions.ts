import type { Question, SessionEvent } from '@halting/core/session'

interface Asked {
  /** As it was told here. */
  readonly question: Question
  /** What the worker calls it that asks now. */
  id: string
}

/**
 * The questions of the run that goes on, as a client tells them.
 * A1: a question about a call is told once, also where the next worker asks again, or where it was asked before anybody listened. A2: it keeps the id under which it was
 * told, and is closed once.
 */
export class AskedQuestions {
  readonly #tell: (event: SessionEvent) => void
  /** By call. */
  readonly #asked = new Map<string, Asked>()
  /** About which this client has said something. A worker that takes the run up asks again, and is answered by the cluster. */
  readonly #answered = new Set<string>()

  constructor(tell: (event: SessionEvent) => void) {
    this.#tell = tell
  }

  /** Those that wait for an answer, as they were told. */
  shown(told: readonly Question[]): readonly Question[] {
    return told.flatMap((question) => {
      const { callId } = question
      return this.#answered.has(callId) ? [] : [this.#asked.get(callId)?.question ?? question]
    })
  }

  /** From an event, or from a snapshot. */
  ask(question: Question): void {
    const { callId, id } = question
    const known = this.#asked.get(callId)
    if (known !== undefined) known.id = id
    if (known !== undefined || this.#answered.has(callId)) return
    this.#asked.set(callId, { question, id })
    this.#tell({ type: 'question', question })
  }

  answer(callId: string): void {
    this.#answered.add(callId)
  }

  close(id: string, because: 'answered' | 'withdrawn'): void {
    for (const [callId, asked] of this.#asked) {
      if (asked.id !== id) continue
      this.#asked.delete(callId)
      this.#answered.add(callId)
      this.#tell({ type: 'question_closed', id: asked.question.id, because })
    }
  }

  /** The run is over: nobody waits for an answer any more. */
  end(): void {
    for (const { id } of this.#asked.values()) this.close(id, 'withdrawn')
    this.#answered.clear()
  }
}
