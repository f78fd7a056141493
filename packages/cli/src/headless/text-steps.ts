import type { RunEvent } from '@halting/core'
import { RetainedAnswer } from './retained-answer.ts'

/**
 * Which texts of the model are printed here: all texts; `steps`, without the answer, which another component prints; or
 * none, because they were streamed.
 */
export type PrintedTexts = 'all' | 'steps' | 'none'

/** Decides which texts of the model are steps. The last text is the answer, unless an earlier answer was retained. */
export class TextSteps {
  readonly #line: (text: string) => void
  readonly #texts: PrintedTexts
  /** A text that may be the answer. */
  #pending = ''
  readonly #answer = new RetainedAnswer()
  /** The retained answer; undefined without one. */
  #retained: string | undefined

  constructor(line: (text: string) => void, texts: PrintedTexts) {
    this.#line = line
    this.#texts = texts
  }

  onText(text: string): void {
    this.release()
    if (this.#texts === 'all') this.#line(text)
    // After a retained answer, later texts are not streamed, so they are printed here.
    if (this.#texts === 'steps' || (this.#texts === 'none' && this.#retained !== undefined)) this.#pending = text
  }

  /** Called when the last text turned out to be a step: prints it. */
  release(): void {
    if (this.#pending !== '') this.#line(this.#pending)
    this.#pending = ''
  }

  /** Called when the model calls a tool, so that its last text is a step. */
  onToolCall(): void {
    this.#dropRetained()
    this.release()
  }

  // Spec R-VERI-22.
  /** Tracks a retained answer: it remains the answer of the run unless the model continues, which makes it a step. */
  onEvent(event: RunEvent): void {
    const change = this.#answer.onEvent(event)
    if (change === 'begins') {
      this.#retained = this.#pending
      this.#pending = ''
    }
    if (change === 'ends') this.#dropRetained()
  }

  /** Called at the end of the run: texts after a retained answer are steps. */
  end(): void {
    if (this.#retained !== undefined) this.release()
  }

  #dropRetained(): void {
    if (this.#retained === undefined) return
    if (this.#texts === 'steps' && this.#retained !== '') this.#line(this.#retained)
    // Later text was streamed in the meantime.
    if (this.#texts === 'none') this.#pending = ''
    this.#retained = undefined
  }
}
