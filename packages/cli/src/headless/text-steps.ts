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
  /** The answer that stays that of the run unless the model calls a tool; undefined for none. */
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

  // Spec R-VERI-22.
  /** The model is asked to verify its last change: the answer before that stays, unless it calls a tool. */
  keep(): void {
    if (this.#kept !== undefined) return
    this.#kept = this.#held
    this.#held = ''
  }

  /** The model calls a tool: what it told is a step, and so is an answer that was kept. */
  goOn(): void {
    // It was told as it came.
    if (this.#kept !== undefined && this.#texts === 'none') this.#held = ''
    if (this.#texts === 'steps' && this.#kept !== undefined && this.#kept !== '') this.#line(this.#kept)
    this.#kept = undefined
    this.release()
  }

  /** The run has its answer: behind one that was kept, what the model said is a step. */
  end(): void {
    if (this.#kept !== undefined) this.release()
  }
}
