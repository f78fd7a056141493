import { checkAnswer } from '../run/answer-shape.ts'
import type { CanUseTool, CanUseToolOptions, PermissionAnswer } from '../run/can-use-tool.ts'
import type { Question, SessionEvent } from './session.ts'
import { requestWithdrawn } from '../permissions/permission-texts.ts'
import { type AskLimit, checkedLimitAnswer, type LimitAnswer, type LimitRequest } from '../state/limit-request.ts'

/** An open permission request, and the caller that waits for its answer. */
interface OpenQuestion {
  readonly question: Question
  readonly settle: (answer: PermissionAnswer, because: 'answered' | 'withdrawn') => void
}

const withdrawn: PermissionAnswer = Object.freeze({ behavior: 'deny', message: requestWithdrawn })

/** Calls that wait for a person. The first answer counts; an answer to a withdrawn request is ignored. */
export class Questions {
  readonly #open = new Map<string, OpenQuestion>()
  readonly #emit: (event: SessionEvent) => void
  #count = 0

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  get open(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question)
  }

  /** The function for the engine's option of the same name. */
  readonly canUseTool: CanUseTool = (toolName, input, options) =>
    new Promise((resolve) => {
      const { signal } = options
      if (signal.aborted) return resolve(withdrawn)
      const id = `question${++this.#count}`
      const question = { id, toolName, input, ...questionOf(options) }
      const onAbort = (): void => settle(withdrawn, 'withdrawn')
      const settle: OpenQuestion['settle'] = (answer, because) => {
        if (!this.#open.delete(id)) return
        signal.removeEventListener('abort', onAbort)
        this.#emit({ type: 'question_closed', id, because })
        resolve(answer)
      }
      this.#open.set(id, { question, settle })
      signal.addEventListener('abort', onAbort)
      this.#emit({ type: 'question', question })
    })

  /** @throws ConfigurationError for an invalid answer: the request stays open. */
  answer(id: string, answer: PermissionAnswer): boolean {
    checkAnswer(answer)
    const open = this.#open.get(id)
    open?.settle(answer, 'answered')
    return open !== undefined
  }

  /** Withdraws all requests: their calls no longer wait. */
  withdrawAll(): void {
    for (const { settle } of this.#open.values()) settle(withdrawn, 'withdrawn')
  }
}

function questionOf(options: CanUseToolOptions): Omit<Question, 'id' | 'toolName' | 'input'> {
  const { toolUseID, suggestions, decisionReason, decisionReasonType: reasonType, blockedPath, agentID } = options
  return {
    callId: toolUseID,
    reason: decisionReason,
    ...(reasonType !== undefined && { reasonType }),
    ...(blockedPath !== undefined && { blockedPath }),
    suggestions,
    ...(agentID !== undefined && { agentId: agentID }),
  }
}

interface OpenLimit {
  readonly request: LimitRequest
  readonly close: (because: 'answered' | 'withdrawn') => void
  /** Ends the run at its limit. */
  readonly end: () => void
}

/** The open question at a limit. There is at most one, because a run pauses at one limit at a time. */
export class LimitQuestions {
  readonly #emit: (event: SessionEvent) => void
  #open: OpenLimit | undefined

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  get open(): LimitRequest | null {
    return this.#open?.request ?? null
  }

  /** The function for the engine's option of the same name. A raised limit is set, so the run receives it. */
  readonly askLimit: AskLimit = (request, { signal }) =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#open?.close('withdrawn')
        reject(new Error('The question is no longer open.'))
      }
      if (signal.aborted) return onAbort()
      const close = (because: 'answered' | 'withdrawn'): void => {
        if (this.#open?.request !== request) return
        this.#open = undefined
        this.#emit({ type: 'limit_question_closed', id: request.id, because })
      }
      this.#open = { request, close, end: () => resolve({ end: true }) }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#emit({ type: 'limit_question', request })
    })

  /**
   * Answers the question; false if no such question is open. `raise` sets the limit.
   * @throws ConfigurationError for an invalid answer, and errors of `raise`: the question stays open.
   */
  answer(id: string, limitAnswer: LimitAnswer, raise: (limits: NonNullable<LimitAnswer['raise']>) => void): boolean {
    const open = this.#open
    if (open?.request.id !== id) return false
    const answer = checkedLimitAnswer(open.request, limitAnswer)
    if (answer.raise !== undefined) raise(answer.raise)
    open.close('answered')
    if (answer.end === true) open.end()
    return true
  }
}
