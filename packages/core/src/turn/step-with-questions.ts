import type { AbortCause } from '../cancel/abort.ts'
import { hookQuestions, questionOf, type AskModel, type HookQuestion } from '../hooks/questions.ts'
import { messageOf } from '../errors.ts'
import { after, type Eventually } from '../eventually.ts'
import { digestOf } from '../hash.ts'
import type { CompactionReply } from '../context/port.ts'
import type { StepResult } from '../steps/steps.ts'
import { refusedQuestion } from './request/question.ts'
import { enterBill, Questions, type Bill } from './request/questions.ts'
import type { Run } from './run.ts'

/** Somebody who is called in a step and may ask a model. */
export interface MayAsk<T> {
  /** Calls it. Never rejects. */
  call(ask: AskModel): Eventually<T>
  /** What it came to, when an abort cut a question of it: the cause is on record there. */
  cut(value: T, cause: AbortCause): T
}

/** In the place of what it comes to: it asks, and that is no effect of one step. What it comes to is on record below. */
type Asks = { readonly asks: true }
type AskedRecord<T> = Bill & { readonly value: T }

const asks: Asks = Object.freeze({ asks: true })
const composite = Object.freeze({ onUnfinished: 'rerun', sync: 'none', composite: true } as const)

/**
 * Calls somebody in a step. One who asks nothing is one step. With its first question that step ends, and says so; the questions are steps of their
 * own, and what it all came to is one more, a composite of theirs. A resume that finds only the first calls it again, with what it asked answered
 * from the record.
 */
export function stepWithQuestions<T>(run: Run, name: string, who: MayAsk<T>): Eventually<StepResult<T>> {
  let asking: Asking<T> | undefined
  const step = run.step<T | Asks>(name, () => {
    asking = new Asking(run, `${name}/asked`, who)
    return asking.begin()
  })
  return after(step, (begun) => {
    const { value } = begun
    return isAsks(value) ? answered(run, name, who, begun, asking) : { ...begun, value }
  })
}

function isAsks(value: unknown): value is Asks {
  return typeof value === 'object' && value !== null && 'asks' in value && value.asks === true
}

function answered<T>(
  run: Run,
  name: string,
  who: MayAsk<T>,
  begun: StepResult<unknown>,
  live: Asking<T> | undefined,
): Eventually<StepResult<T>> {
  const whole = `${name}/asked`
  const { steps, isResumed } = run.ports
  const ended = (end: StepResult<AskedRecord<T>>): StepResult<T> => ({
    value: end.value.value,
    replayed: end.replayed,
    at: begun.at,
    durationMs: end.at + end.durationMs - begun.at,
  })
  const called = (): Promise<AskedRecord<T>> => (live ?? Asking.again(run, whole, who)).end()
  // What is on record is not called. Nor is it in a replay that is no resume: where the record ends, the driver says so.
  if (steps.peek(run.key(whole)) === 'done' || (live === undefined && !isResumed))
    return after(run.step<AskedRecord<T>>(whole, called, composite), (end) => {
      if (end.replayed) enterBill(run, end.value)
      return ended(end)
    })
  return called().then((record) =>
    after(
      run.step<AskedRecord<T>>(whole, () => record, composite),
      ended,
    ),
  )
}

/** Somebody who was called, until it ends. A1: what it asks is asked once its first step is on record. A2: what it asks after its end is refused. */
class Asking<T> {
  readonly #who: MayAsk<T>
  readonly #questions: Questions
  readonly #names = new Map<string, number>()
  readonly #opened: Promise<boolean>
  #open: (isOpen: boolean) => void = () => {}
  #working: Promise<T> | undefined
  #onFirst: (() => void) | undefined
  #hasAsked = false
  #isOver = false

  constructor(run: Run, name: string, who: MayAsk<T>) {
    this.#who = who
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
    this.#questions = new Questions({
      run,
      name,
      limit: hookQuestions,
      who: 'A hook',
    })
  }

  /** For a resume: its first step is on record. */
  static again<T>(run: Run, name: string, who: MayAsk<T>): Asking<T> {
    const asking = new Asking(run, name, who)
    asking.#hasAsked = true
    void asking.begin()
    return asking
  }

  /** Calls it. Gives what it comes to, or that it asks. */
  begin(): Eventually<T | Asks> {
    const working = this.#who.call((request) => this.#ask(request))
    if (!(working instanceof Promise)) {
      this.#working = Promise.resolve(working)
      // In a resume it may ask no more than it did: then there is nothing to wait for.
      this.#isOver = true
      this.#open(false)
      return working
    }
    this.#working = working
    if (this.#hasAsked) return asks
    return new Promise((resolve, reject) => {
      this.#onFirst = () => resolve(asks)
      working.then((value) => {
        if (!this.#hasAsked) this.#isOver = true
        resolve(value)
      }, reject)
    })
  }

  /** Its questions are asked from here on. Gives what it came to, once all of them have ended. */
  async end(): Promise<AskedRecord<T>> {
    this.#open(true)
    const working = this.#working ?? Promise.reject(new Error('it was not called'))
    const value = await this.#questions.until(working)
    this.#isOver = true
    const { aborted, bill } = this.#questions
    const { charges, told } = bill
    return { value: aborted === undefined ? value : this.#who.cut(value, aborted), charges, told }
  }

  /** What was given is read once, and first: whoever asks may be plain JavaScript. */
  async #ask(given: HookQuestion): Promise<CompactionReply> {
    if (this.#isOver) return tooLate
    let question: HookQuestion
    let name: string
    try {
      question = questionOf(given)
      name = this.#nameOf(question)
    } catch (error) {
      return refusedQuestion(messageOf(error))
    }
    this.#hasAsked = true
    this.#onFirst?.()
    const isOpen = await this.#opened
    return isOpen && !this.#isOver ? this.#questions.ask(question, name) : tooLate
  }

  /** By what is asked, not by when: questions that are asked beside each other come in another order the next time. */
  #nameOf({ system, messages, model, maxTokens }: HookQuestion): string {
    const digest = digestOf(JSON.stringify([system, messages, model?.id ?? '', maxTokens ?? 0]))
    const count = (this.#names.get(digest) ?? 0) + 1
    this.#names.set(digest, count)
    return count === 1 ? digest : `${digest}-${count}`
  }
}

const tooLate = refusedQuestion('What asks has ended: its questions are not asked any more.')
