import { laterWaits, type ServiceWaits } from '../model/service-waits.ts'
import type { AbortCause } from '../values/abort.ts'
import type { CompactionReply, HookQuestion } from '../model/questions.ts'
import type { RunEvent } from '../state/events.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Run } from '../run/run.ts'
import { askModel, type Requester } from './ask-model.ts'
import { OpenBill, type Bill, type Charge } from '../run/request-bill.ts'
import { chargeOf } from './charge.ts'
import { QuestionTimeout } from './question-timeout.ts'
import { currentModel } from './current-model.ts'
import { warningsOf, type RestingTime } from './request-plan.ts'
import { problemOfQuestion, questionPlan, refusedQuestion, replyTo, type Question } from './question.ts'

/** Enters a recorded bill: its charges are added to the figures and its events are emitted again. */
export function enterBill(run: Run, { charges, told: events, waits }: Bill): void {
  if (waits !== undefined) {
    run.ports.waitTime.restore(waits)
    enterWaits(run, waits)
  }
  for (const event of events) run.emit(event)
  for (const charge of charges) enterCharge(run, charge)
}

/** Adds the time of waiting for services to the figures of the run. */
export function enterWaits(run: Run, waited: ServiceWaits): void {
  run.update({ waits: laterWaits(run.spent.waits, waited) })
}

export function enterCharge(run: Run, charge: Charge): void {
  run.update(chargeOf(run.spent, charge, 'question'))
}

// Spec R-CTX-6a.
/** The caller of a question: no fallback model takes over. */
export function askerFor(bill: OpenBill, retryName: string, onRefusal?: (error: ModelErrorJson) => void): Requester {
  return {
    retryName,
    canFallBack: false,
    begin: () => () => {},
    report: (event) => bill.addEvent(event),
    enterWait: (waited) => bill.enterWait(waited),
    enter: (_attempt, { value }) => {
      if (value.kind === 'over_budget' || (value.kind === 'aborted' && value.charge.known)) return
      const { charge } = value
      if (value.kind === 'failed' && value.error.contextLimit !== undefined) onRefusal?.(value.error)
      bill.charge(charge)
      if (charge.note !== undefined) bill.addEvent({ type: 'notice', message: charge.note })
      for (const message of warningsOf(value)) bill.addEvent({ type: 'notice', message })
    },
  }
}

/** A bill for a question that the run waits for. It is entered and reported immediately. */
export class LiveBill extends OpenBill {
  readonly #run: Run

  constructor(run: Run) {
    super()
    this.#run = run
  }

  override charge(charge: Charge): void {
    super.charge(charge)
    enterCharge(this.#run, charge)
  }

  override enterWait(waited: ServiceWaits): void {
    super.enterWait(waited)
    enterWaits(this.#run, waited)
  }

  override addEvent(event: RunEvent): void {
    super.addEvent(event)
    this.#run.emit(event)
  }
}

type TimedQuestion = Question & Pick<HookQuestion, 'timeoutMs'>

/** The originator of the questions, and how many it may ask. */
export interface QuestionsOptions {
  readonly run: Run
  /** The name of the composite step that stores the outcome. The names of the questions begin with it. */
  readonly name: string
  readonly limit: number
  /** The name of the originator in messages, for example `A compaction`. */
  readonly callerName: string
  /** The bill that their cost is added to. */
  readonly bill: OpenBill
  /** Whether they run in parallel with the run's own work. Meanwhile they must not change the run. */
  readonly isConcurrent: boolean
}

/**
 * The questions of one compaction, or of one call of a hook or a tool. Q1: The run waits for all of their model
 * requests, even if the originator ignored an abort, so nothing is written later. Q2: A step engine that fails breaks
 * the run, even if the originator catches the error. Q3: A question after the end is refused.
 */
export class Questions {
  readonly bill: Bill
  /** Refusals that reported a context window. */
  readonly refusals: { model: string; error: ModelErrorJson }[] = []
  /** The cause of the abort that interrupted one of them. */
  aborted: AbortCause | undefined
  readonly #of: QuestionsOptions
  readonly #asking: Promise<unknown>[] = []
  readonly #broken: Promise<never>
  #breakRun: (error: unknown) => void = () => {}
  #asked = 0
  #isOver = false

  constructor(options: QuestionsOptions) {
    this.#of = options
    this.bill = options.bill
    this.#broken = new Promise<never>((_resolve, reject) => {
      this.#breakRun = reject
    })
    // The code that waits for the end receives the error.
    this.#broken.catch(() => {})
  }

  /**
   * A failing step engine breaks the run, even if the caller handles the rejection.
   * @param childName The name of the question below the composite; its number when absent.
   * @param time The timeout of the caller, paused while the question waits for its service.
   */
  ask(request: TimedQuestion, childName?: string, time?: RestingTime): Promise<CompactionReply> {
    const reply = this.#ask(request, childName, time)
    this.#asking.push(reply)
    reply.catch(this.#breakRun)
    return reply
  }

  /** Waits for the caller's work, and then for its unanswered questions. */
  async until<T>(working: PromiseLike<T>): Promise<T> {
    const result = await Promise.race([working, this.#broken])
    this.#isOver = true
    await Promise.all(this.#asking)
    return result
  }

  async #ask(
    request: TimedQuestion,
    requestedName: string | undefined,
    time: RestingTime | undefined,
  ): Promise<CompactionReply> {
    const { run, name, limit, callerName: who, bill, isConcurrent } = this.#of
    if (this.#isOver) return { kind: 'aborted' }
    const number = ++this.#asked
    const problem = number > limit ? `${who} may ask ${limit} times.` : problemOfQuestion(run, request)
    if (problem !== undefined) return refusedQuestion(problem)
    const model = request.model ?? currentModel(run)
    const childName = requestedName ?? String(number)
    const alone = questionPlan(run, request, model, `${name}/${childName}`)
    const plan = isConcurrent ? { ...alone, isConcurrent } : alone
    const { timeoutMs } = request
    const cutOff = timeoutMs === undefined ? undefined : new QuestionTimeout(run.context.timers, timeoutMs)
    const times = [cutOff?.time, time].filter((timer) => timer !== undefined)
    const timed = { ...plan, times, ...(cutOff !== undefined && { cutOff: cutOff.signal }) }
    const asker = askerFor(bill, `${name}/retry:${childName}`, (error) =>
      this.refusals.push({ model: model.id, error }),
    )
    const outcome = await askModel(run, timed, asker).finally(() => cutOff?.end())
    if (outcome.kind === 'aborted') this.aborted ??= outcome.cause
    return replyTo(outcome)
  }
}
