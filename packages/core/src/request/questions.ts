import { laterWaits, type ServiceWaits } from '../model/service-waits.ts'
import type { AbortCause } from '../values/abort.ts'
import type { CompactionReply, HookQuestion } from '../model/questions.ts'
import type { RunEvent } from '../state/events.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Run } from '../run/run.ts'
import { askModel, type Asker } from './ask-model.ts'
import { OpenBill, type Bill, type Charge } from '../run/request-bill.ts'
import { chargeOf } from './charge.ts'
import { CutOff } from './cut-off.ts'
import { currentModel } from './current-model.ts'
import { warningsOf, type RestingTime } from './request-plan.ts'
import { problemOfQuestion, questionPlan, refusedQuestion, replyTo, type Question } from './question.ts'

/** Enters a bill from the record: what was paid then is in the figures, and what was told is told again. */
export function enterBill(run: Run, { charges, told, waits }: Bill): void {
  if (waits !== undefined) {
    run.ports.waitTime.restore(waits)
    enterWaits(run, waits)
  }
  for (const event of told) run.emit(event)
  for (const charge of charges) enterCharge(run, charge)
}

/** What was waited for a service is in the figures of the run. */
export function enterWaits(run: Run, waited: ServiceWaits): void {
  run.update({ waits: laterWaits(run.spent.waits, waited) })
}

export function enterCharge(run: Run, charge: Charge): void {
  run.update(chargeOf(run.spent, charge, 'question'))
}

// Spec R-CTX-6a.
/** Who asks: no fallback model takes over for a question. */
export function askerFor(bill: OpenBill, retryName: string, onRefusal?: (error: ModelErrorJson) => void): Asker {
  return {
    retryName,
    canFallBack: false,
    begin: () => () => {},
    tell: (event) => bill.tell(event),
    enterWait: (waited) => bill.enterWait(waited),
    enter: (_attempt, { value }) => {
      if (value.kind === 'over_budget' || (value.kind === 'aborted' && value.charge.known)) return
      const { charge } = value
      if (value.kind === 'failed' && value.error.contextLimit !== undefined) onRefusal?.(value.error)
      bill.charge(charge)
      if (charge.note !== undefined) bill.tell({ type: 'notice', message: charge.note })
      for (const message of warningsOf(value)) bill.tell({ type: 'notice', message })
    },
  }
}

/** The same where the run waits for it: all is entered and told at once. */
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

  override tell(event: RunEvent): void {
    super.tell(event)
    this.#run.emit(event)
  }
}

type TimedQuestion = Question & Pick<HookQuestion, 'timeoutMs'>

/** Whose questions they are, and how many there may be. */
export interface QuestionsOf {
  readonly run: Run
  /** Of the composite step that holds what they came to; theirs begin with it. */
  readonly name: string
  readonly limit: number
  /** For messages: `A compaction`. */
  readonly who: string
  /** Where what they cost is put. */
  readonly bill: OpenBill
  /** They are asked beside the run's own work, and nothing of the run is written meanwhile. */
  readonly isBeside: boolean
}

/**
 * The questions of one compaction, or of one call of a hook or a tool. Q1: the run waits for every model request of it, also when whoever asked ignored an
 * abort, so nothing is written later. Q2: a driver that fails breaks the run, also when whoever asked catches the error. Q3: a question after the
 * end is refused.
 */
export class Questions {
  readonly bill: Bill
  /** Refusals that said something about a window. */
  readonly refusals: { model: string; error: ModelErrorJson }[] = []
  /** What cut one of them. */
  aborted: AbortCause | undefined
  readonly #of: QuestionsOf
  readonly #asking: Promise<unknown>[] = []
  readonly #broken: Promise<never>
  #breakRun: (error: unknown) => void = () => {}
  #asked = 0
  #isOver = false

  constructor(of: QuestionsOf) {
    this.#of = of
    this.bill = of.bill
    this.#broken = new Promise<never>((_resolve, reject) => {
      this.#breakRun = reject
    })
    // Whoever waits for the end hears of it.
    this.#broken.catch(() => {})
  }

  /**
   * Where the driver fails the run breaks, whatever whoever asks makes of the rejection.
   * @param own The name of the question below that of the composite; its number when absent.
   * @param time Of whoever asks: it stands still while the question waits for its service.
   */
  ask(request: TimedQuestion, own?: string, time?: RestingTime): Promise<CompactionReply> {
    const reply = this.#ask(request, own, time)
    this.#asking.push(reply)
    reply.catch(this.#breakRun)
    return reply
  }

  /** Waits for the work of whoever asks, and then for what it left unanswered. */
  async until<T>(working: PromiseLike<T>): Promise<T> {
    const result = await Promise.race([working, this.#broken])
    this.#isOver = true
    await Promise.all(this.#asking)
    return result
  }

  async #ask(
    request: TimedQuestion,
    given: string | undefined,
    time: RestingTime | undefined,
  ): Promise<CompactionReply> {
    const { run, name, limit, who, bill, isBeside } = this.#of
    if (this.#isOver) return { kind: 'aborted' }
    const number = ++this.#asked
    const problem = number > limit ? `${who} may ask ${limit} times.` : problemOfQuestion(run, request)
    if (problem !== undefined) return refusedQuestion(problem)
    const model = request.model ?? currentModel(run)
    const own = given ?? String(number)
    const alone = questionPlan(run, request, model, `${name}/${own}`)
    const plan = isBeside ? { ...alone, isBeside } : alone
    const { timeoutMs } = request
    const cutOff = timeoutMs === undefined ? undefined : new CutOff(run.context.timers, timeoutMs)
    const times = [cutOff?.time, time].filter((each) => each !== undefined)
    const timed = { ...plan, times, ...(cutOff !== undefined && { cutOff: cutOff.signal }) }
    const asker = askerFor(bill, `${name}/retry:${own}`, (error) => this.refusals.push({ model: model.id, error }))
    const asked = await askModel(run, timed, asker).finally(() => cutOff?.end())
    if (asked.kind === 'aborted') this.aborted ??= asked.cause
    return replyTo(asked)
  }
}
