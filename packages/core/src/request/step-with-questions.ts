import type { AbortCause } from '../values/abort.ts'
import {
  hookQuestions,
  questionOf,
  type AskModel,
  type HookQuestion,
  type CompactionReply,
} from '../model/questions.ts'
import { messageOf } from '../values/errors.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { digestOf } from '../values/hash.ts'
import type { StepResult } from '../steps/step-engine.ts'
import { chargeOfStep, restoreForAgent } from './charge.ts'
import { refusedQuestion } from './question.ts'
import { billRecord, type Bill, type OpenBill } from '../run/request-bill.ts'
import { enterBill, LiveBill, Questions } from './questions.ts'
import type { RestingTime } from './request-plan.ts'
import type { Run, RunStepOptions } from '../run/run.ts'

/** A callback that is called in a step and may ask a model. */
export interface QuestionCaller<T> {
  /** Calls the callback. Never rejects. `askIn`: like `ask`, with a timeout of the caller that pauses while a question waits for its service. */
  call(ask: AskModel, askIn: AskIn): MaybePromise<T>
  /** Returns the outcome when an abort interrupted one of its questions; the outcome contains the cause. */
  cut(value: T, cause: AbortCause): T
}

export type AskIn = (time: RestingTime) => AskModel

/** Recorded in place of the result when the callback asks questions, since each question needs a separate step, and the result is recorded after them. */
type QuestionsMark = { readonly asks: true }
export type QuestionsRecord<T> = Bill & { readonly value: T }

/**
 * For callbacks that may run in parallel with others: nothing is entered in the run, and the outcome of their questions
 * is stored in the bill for later.
 */
export interface ConcurrentStep<T> {
  readonly options: RunStepOptions<T>
  readonly bill: OpenBill
}

const questionsMark: QuestionsMark = Object.freeze({ asks: true })
/** Options of the step that stores the combined outcome. */
export const composite: RunStepOptions<never> & { readonly composite: true } = Object.freeze({
  onUnfinished: 'rerun',
  sync: 'none',
  composite: true,
} as const)

/**
 * Calls a callback in a step. Without questions there is only this step. At the first question that step ends, and
 * records that there are questions. Each question is a separate step, and the final result is one more, their composite.
 * A resume that finds only the first step calls the callback again, and answers its questions from the record.
 */
export function stepWithQuestions<T>(
  run: Run,
  name: string,
  caller: QuestionCaller<T>,
  concurrent?: ConcurrentStep<T>,
): MaybePromise<StepResult<T>> {
  let inProgress: CallInProgress<T> | undefined
  const effect = (): MaybePromise<T | QuestionsMark> => {
    inProgress = new CallInProgress(run, `${name}/asked`, caller, concurrent?.bill)
    return inProgress.begin()
  }
  const step =
    concurrent === undefined
      ? run.step<T | QuestionsMark>(name, effect)
      : // An unfinished step can only be the first one: it contains a value, or the mark that the callback asks questions.
        run.stepConcurrently<T | QuestionsMark>(name, effect, concurrent.options)
  return andThen(step, (firstStep) => {
    if (isQuestionsMark(firstStep.value))
      return runQuestions(run, name, caller, firstStep, { live: inProgress, bill: concurrent?.bill })
    // The value is not `QuestionsMark`, as checked above.
    return firstStep as StepResult<T>
  })
}

export function isQuestionsMark(value: unknown): value is QuestionsMark {
  return typeof value === 'object' && value !== null && 'asks' in value && value.asks === true
}

function runQuestions<T>(
  run: Run,
  name: string,
  caller: QuestionCaller<T>,
  firstStep: StepResult<unknown>,
  { live, bill }: { readonly live: CallInProgress<T> | undefined; readonly bill: OpenBill | undefined },
): MaybePromise<StepResult<T>> {
  const wholeName = `${name}/asked`
  const { steps, isResumed } = run.ports
  const step = bill === undefined ? run.step.bind(run) : run.stepConcurrently.bind(run)
  const ended = (end: StepResult<QuestionsRecord<T>>): StepResult<T> => ({
    value: end.value.value,
    replayed: end.replayed,
    at: firstStep.at,
    durationMs: Math.max(0, end.at + end.durationMs - firstStep.at),
  })
  const finish = (): Promise<QuestionsRecord<T>> => (live ?? CallInProgress.resume(run, wholeName, caller, bill)).end()
  // A recorded result is not computed again. In a replay that is not a resume, the step engine reports where the record ends.
  if (steps.peek(run.key(wholeName)) === 'done' || (live === undefined && !isResumed))
    return andThen(step<QuestionsRecord<T>>(wholeName, finish, composite), (end) => {
      if (end.replayed) {
        restoreForAgent(run, end.value.charges)
        if (bill === undefined) enterBill(run, end.value)
        else bill.addAll(end.value)
      }
      return ended(end)
    })
  return finish().then((record) =>
    andThen(
      step<QuestionsRecord<T>>(wholeName, () => record, composite),
      ended,
    ),
  )
}

/**
 * A callback in progress. A1: Its questions are asked once its first step is on record. A2: A question after its end is
 * refused. Most callbacks ask no questions, so the state for questions is created with the first one.
 */
class CallInProgress<T> {
  readonly #run: Run
  readonly #name: string
  readonly #caller: QuestionCaller<T>
  #bill: OpenBill | undefined
  readonly #isConcurrent: boolean
  #questions: Questions | undefined
  #names: Map<string, number> | undefined
  /** Whether questions may be asked; undefined until that is decided. */
  #isOpen: boolean | undefined
  #opened: Promise<boolean> | undefined
  #open: ((isOpen: boolean) => void) | undefined
  #working: Promise<T> | undefined
  #onFirst: (() => void) | undefined
  #hasAsked = false
  #isOver = false

  constructor(run: Run, name: string, caller: QuestionCaller<T>, bill: OpenBill | undefined) {
    this.#run = run
    this.#name = name
    this.#caller = caller
    this.#bill = bill
    this.#isConcurrent = bill !== undefined
  }

  /** Continues a callback in a resume, whose first step is on record. */
  static resume<T>(run: Run, name: string, caller: QuestionCaller<T>, bill: OpenBill | undefined): CallInProgress<T> {
    const inProgress = new CallInProgress(run, name, caller, bill)
    inProgress.#hasAsked = true
    void inProgress.begin()
    return inProgress
  }

  /** Calls the callback. Returns its result, or the mark that it asks questions. */
  begin(): MaybePromise<T | QuestionsMark> {
    const working = this.#caller.call(
      (request) => this.#ask(request),
      (time) => (request) => this.#ask(request, time),
    )
    if (!(working instanceof Promise)) {
      // In a resume the callback may ask no questions this time. There is nothing to wait for then.
      if (this.#hasAsked) this.#working = Promise.resolve(working)
      this.#isOver = true
      this.#decide(false)
      return working
    }
    this.#working = working
    if (this.#hasAsked) return questionsMark
    return new Promise((resolve, reject) => {
      this.#onFirst = () => resolve(questionsMark)
      working.then((value) => {
        if (!this.#hasAsked) this.#isOver = true
        resolve(value)
      }, reject)
    })
  }

  #decide(isOpen: boolean): void {
    // The first decision applies.
    this.#isOpen ??= isOpen
    this.#open?.(isOpen)
  }

  /** Resolves once it is decided whether questions may be asked. */
  #whenOpened(): Promise<boolean> {
    if (this.#isOpen !== undefined) return Promise.resolve(this.#isOpen)
    return (this.#opened ??= new Promise((resolve) => {
      this.#open = resolve
    }))
  }

  #openBill(): OpenBill {
    return (this.#bill ??= new LiveBill(this.#run))
  }

  #asked(): Questions {
    return (this.#questions ??= new Questions({
      run: this.#run,
      name: this.#name,
      limit: hookQuestions,
      callerName: this.#isConcurrent ? 'A tool' : 'A hook',
      bill: this.#openBill(),
      isConcurrent: this.#isConcurrent,
    }))
  }

  /** From then on the questions of the callback are asked. Returns the result once all of them have ended. */
  async end(): Promise<QuestionsRecord<T>> {
    this.#decide(true)
    const working = this.#working ?? Promise.reject(new Error('it was not called'))
    const questions = this.#asked()
    const value = await questions.until(working)
    this.#isOver = true
    const { aborted, bill } = questions
    // Questions that were asked before a crash but not again must still be paid.
    const { steps, isResumed } = this.#run.ports
    if (isResumed) {
      const abandoned = steps.abandon(this.#run.key(`${this.#name}/`)).flatMap(chargeOfStep)
      restoreForAgent(this.#run, abandoned)
      for (const charge of abandoned) this.#openBill().charge(charge)
    }
    return { value: aborted === undefined ? value : this.#caller.cut(value, aborted), ...billRecord(bill) }
  }

  /** Reads the request only once and at the start, because JavaScript code may change it later. */
  async #ask(unchecked: HookQuestion, time?: RestingTime): Promise<CompactionReply> {
    if (this.#isOver) return tooLate
    let question: HookQuestion
    let name: string
    try {
      question = questionOf(unchecked)
      name = this.#nameOf(question)
    } catch (error) {
      return refusedQuestion(messageOf(error))
    }
    this.#hasAsked = true
    this.#onFirst?.()
    const isOpen = await this.#whenOpened()
    return isOpen && !this.#isOver ? this.#asked().ask(question, name, time) : tooLate
  }

  /** Named by content, not by order: parallel questions may arrive in another order next time. */
  #nameOf({ system, messages, model, maxOutputTokens, webSearch }: HookQuestion): string {
    const searches = webSearch === undefined ? [] : [webSearch]
    const digest = digestOf(JSON.stringify([system, messages, model?.id ?? '', maxOutputTokens ?? 0, ...searches]))
    const names = (this.#names ??= new Map<string, number>())
    const count = (names.get(digest) ?? 0) + 1
    names.set(digest, count)
    return count === 1 ? digest : `${digest}-${count}`
  }
}

const tooLate = refusedQuestion('The caller has ended, so its question was not asked.')
