import type { RunEvent } from '@halting/core'
import { RetainedAnswer } from './retained-answer.ts'

/**
 * Texts of the model that are told: all, those that are not the answer (which somebody else prints), or none (they were
 * told as they came).
 */
export type PrintedTexts = 'all' | 'steps' | 'none'

/** Which texts of the model are steps, and when that is known: the last of them is the answer, unless an answer before it was kept. */
export class TextSteps {
  readonly #line: (text: string) => void
  readonly #texts: PrintedTexts
  /** A text that may be the answer. */
  #pending = ''
  readonly #answer = new RetainedAnswer()
  /** The answer that is kept; undefined where none is. */
  #retained: string | undefined

  constructor(line: (text: string) => void, texts: PrintedTexts) {
    this.#line = line
    this.#texts = texts
  }

  onText(text: string): void {
    this.release()
    if (this.#texts === 'all') this.#line(text)
    // While an answer is kept, nobody else tells what comes after it.
    if (this.#texts === 'steps' || (this.#texts === 'none' && this.#retained !== undefined)) this.#pending = text
  }

  /** What was told last is a step. */
  release(): void {
    if (this.#pending !== '') this.#line(this.#pending)
    this.#pending = ''
  }

  /** The model calls a tool: what it told is a step. */
  onToolCall(): void {
    this.#dropRetained()
    this.release()
  }

  // Spec R-VERI-22.
  /** Hears where an answer is kept: it stays that of the run unless the model goes on from there, which makes a step of it. */
  onEvent(event: RunEvent): void {
    const change = this.#answer.onEvent(event)
    if (change === 'begins') {
      this.#retained = this.#pending
      this.#pending = ''
    }
    if (change === 'ends') this.#dropRetained()
  }

  /** The run has its answer: behind one that was kept, what the model said is a step. */
  end(): void {
    if (this.#retained !== undefined) this.release()
  }

  #dropRetained(): void {
    if (this.#retained === undefined) return
    if (this.#texts === 'steps' && this.#retained !== '') this.#line(this.#retained)
    // What came since was told as it came.
    if (this.#texts === 'none') this.#pending = ''
    this.#retained = undefined
  }
}
