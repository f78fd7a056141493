import { type AskLimit, checkedLimitAnswer, type LimitAnswer, type LimitRequest } from '../state/limit-question.ts'
import type { SessionEvent } from './session.ts'

interface OpenLimit {
  readonly request: LimitRequest
  readonly close: (because: 'answered' | 'withdrawn') => void
  /** The run ends as the limit says. */
  readonly end: () => void
}

/** The question at a limit that is open, one at most: a run pauses at one limit. */
export class LimitQuestions {
  readonly #tell: (event: SessionEvent) => void
  #open: OpenLimit | undefined

  constructor(tell: (event: SessionEvent) => void) {
    this.#tell = tell
  }

  get open(): LimitRequest | null {
    return this.#open?.request ?? null
  }

  /** For the engine's option of this name. A limit that is raised is set: the run hears of that. */
  readonly askLimit: AskLimit = (request, { signal }) =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#open?.close('withdrawn')
        reject(new Error('Nobody waits for the answer any more.'))
      }
      if (signal.aborted) return onAbort()
      const close = (because: 'answered' | 'withdrawn'): void => {
        if (this.#open?.request !== request) return
        this.#open = undefined
        this.#tell({ type: 'limit_question_closed', id: request.id, because })
      }
      this.#open = { request, close, end: () => resolve({ end: true }) }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#tell({ type: 'limit_question', request })
    })

  /**
   * False where no such question is open. `raise` sets the limit.
   * @throws ConfigurationError for what is no answer, and what `raise` throws: the question stays.
   */
  answer(id: string, given: LimitAnswer, raise: (limits: NonNullable<LimitAnswer['raise']>) => void): boolean {
    const open = this.#open
    if (open?.request.id !== id) return false
    const answer = checkedLimitAnswer(open.request, given)
    if (answer.raise !== undefined) raise(answer.raise)
    open.close('answered')
    if (answer.end === true) open.end()
    return true
  }
}
