import type { RunEvent } from '@halting/core'
import { KeptAnswer } from './kept-answer.ts'

/**
 * Texts of the model that are told: all, those that are not the answer (which somebody else prints), or none (they were
 * told as they came).
 */
export type ToldTexts = 'all' | 'steps' | 'none'

/** Which texts of the model are steps, and when that is known: the last of them is the answer, unless an answer before it was kept. */
export class TextSteps {
  readonly #line: (text: string) => void
  readonly #texts: ToldTexts
  /** A text that may be the answer. */
  #held = ''
  readonly #answer = new KeptAnswer()
  /** The answer that is kept; undefined where none is. */
  #kept: string | undefined

  constructor(line: (text: string) => void, texts: ToldTexts) {
    this.#line = line
    this.#texts = texts
  }

  tell(text: string): void {
    this.release()
    if (this.#texts === 'all') this.#line(text)
    // While an answer is kept, nobody else tells what comes after it.
    if (this.#texts === 'steps' || (this.#texts === 'none' && this.#kept !== undefined)) this.#held = text
  }

  /** What was told last is a step. */
  release(): void {
    if (this.#held !== '') this.#line(this.#held)
    this.#held = ''
  }

  /** The model calls a tool: what it told is a step. */
  goOn(): void {
    this.#letGo()
    this.release()
  }

  // Spec R-VERI-22.
  /** Hears where an answer is kept: it stays that of the run unless the model goes on from there, which makes a step of it. */
  onEvent(event: RunEvent): void {
    const change = this.#answer.onEvent(event)
    if (change === 'begins') {
      this.#kept = this.#held
      this.#held = ''
    }
    if (change === 'ends') this.#letGo()
  }

  /** The run has its answer: behind one that was kept, what the model said is a step. */
  end(): void {
    if (this.#kept !== undefined) this.release()
  }

  #letGo(): void {
    if (this.#kept === undefined) return
    if (this.#texts === 'steps' && this.#kept !== '') this.#line(this.#kept)
    // What came since was told as it came.
    if (this.#texts === 'none') this.#held = ''
    this.#kept = undefined
  }
}
