import type { AbortCause } from '../../cancel/abort.ts'
import { nanosOf, usdOf } from '../../budget/prices.ts'
import { HaltingError } from '../../errors.ts'
import { fieldsOf } from '../../given.ts'
import type {
  StandingBudget,
  StandingRefused,
  StandingRequest,
  StandingTaken,
  StandingWait,
} from '../../budget/standing.ts'
import type { Emit, FundsWanted } from '../../events.ts'
import type { Eventually } from '../../eventually.ts'
import type { Run } from '../run.ts'
import type { Grant, OverBudget } from './grant.ts'
import type { RequestPlan } from './request-plan.ts'
import { loweredGrant, type Reserved } from './reserve.ts'
import { worstByReply } from './charge.ts'

// What a request takes from budgets that go on beyond the run (spec R-STAND-1). It comes last before the request: whoever waits here holds what the limits
// of the run let it have, and nobody who holds a part of a standing budget waits for anything.

/** The outcome of a wait for standing budgets, as recorded. */
export type StandingWaited = FundsWanted & {
  readonly budget: string
  readonly outcome: 'granted' | 'refused' | 'aborted'
  readonly cause?: AbortCause
}

/**
 * What the port gave, looked at: it may be anything.
 * @throws HaltingError for what is no answer, and for less than the least that was asked for: the request would cost more than was taken.
 */
function answerOf(given: unknown, { usd, leastUsd }: StandingRequest): StandingAnswer {
  const { kind, usd: taken, settle, budget } = fieldsOf(given) ?? {}
  if (kind === 'refused' && isStandingBudget(budget)) return { kind, budget }
  if (kind !== 'taken' || typeof taken !== 'number' || typeof settle !== 'function')
    throw new HaltingError('callback', 'The standing budgets gave no answer. Nothing was asked.')
  const answer = given as StandingTaken
  if (nanosOf(Math.max(0, taken)) >= nanosOf(leastUsd)) return settledOnce(answer)
  answer.settle(0, true)
  throw new HaltingError(
    'callback',
    `The standing budgets gave $${taken} for a request that may cost $${leastUsd} to $${usd}. Nothing was asked.`,
  )
}

function isStandingBudget(given: unknown): given is StandingBudget {
  const { name, limitUsd, settledUsd, resetsAt } = fieldsOf(given) ?? {}
  const isNamed = typeof name === 'string' && typeof resetsAt === 'string'
  return isNamed && Number.isFinite(limitUsd) && Number.isFinite(settledUsd)
}

export type StandingAnswer = StandingTaken | StandingRefused

/** Whether requests of this plan take from standing budgets. */
export function isStanding({ context }: Run, { model }: Pick<RequestPlan, 'model'>): boolean {
  return context.settings.standing?.countsFor(model.id) === true
}

/** One request at the standing budgets of a run: asked once, and asked again by a process that goes on with a wait. */
export class StandingAsk {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #request: StandingRequest
  #wait: StandingWait | undefined
  #onWait: (wait: StandingWait) => void = () => {}
  readonly #own = new AbortController()

  constructor(run: Run, plan: RequestPlan, grant: Grant) {
    this.#run = run
    this.#plan = plan
    this.#request = requestOf(run, plan, grant)
  }

  /** An answer at once, or one to wait for. */
  ask(): Eventually<StandingAnswer> {
    const { standing } = this.#run.context.settings
    if (standing === null) throw new Error('there are no standing budgets to ask')
    const { signal } = this.#run.ports.abort
    const onWait = (wait: StandingWait): void => {
      this.#wait = wait
      this.#onWait(wait)
    }
    const own = this.#own
    const stop = (): void => own.abort()
    const { cutOff } = this.#plan
    if (signal.aborted || cutOff?.aborted === true) stop()
    signal.addEventListener('abort', stop, { once: true })
    cutOff?.addEventListener('abort', stop, { once: true })
    const done = (): void => {
      signal.removeEventListener('abort', stop)
      cutOff?.removeEventListener('abort', stop)
    }
    let asked: Eventually<StandingAnswer>
    try {
      asked = standing.take(this.#request, { signal: own.signal, onWait })
      if (!(asked instanceof Promise)) asked = answerOf(asked, this.#request)
    } catch (error) {
      done()
      throw error
    }
    if (asked instanceof Promise) return asked.then((given) => answerOf(given, this.#request)).finally(done)
    done()
    return asked
  }

  /** The step of a wait may fail before anybody hears the answer: then nobody waits any more, and what comes is given back. */
  leaveIfBroken(waited: Eventually<unknown>, asked: Eventually<StandingAnswer>, isHeard: () => boolean): void {
    if (!(waited instanceof Promise && asked instanceof Promise)) return
    waited.catch(() => {
      if (isHeard()) return
      this.#own.abort()
      asked.then(
        (answer) => answer.kind === 'taken' && answer.settle(0, true),
        () => {},
      )
    })
  }

  /** Waits for the answer, tells of it, and says what to put on record. */
  async wait(
    asked: Promise<StandingAnswer>,
    emit: Emit,
  ): Promise<{ readonly record: StandingWaited; readonly answer?: StandingAnswer }> {
    const { abort } = this.#run.ports
    const tell = (isWaiting: boolean, wait: StandingWait): void => {
      if (this.#run.ports.isHeard()) emit({ type: 'budget_wait', isWaiting, ...this.#wanted(wait) })
    }
    if (this.#wait !== undefined) tell(true, this.#wait)
    this.#onWait = (wait) => tell(true, wait)
    let answer: StandingAnswer | undefined
    try {
      answer = await asked
    } catch (error) {
      const cause = abort.causeNow()
      const isCut = this.#plan.cutOff?.aborted === true
      if (cause === undefined && !isCut) throw error
      return { record: { ...this.#wanted(), outcome: 'aborted', ...(cause !== undefined && { cause }) } }
    } finally {
      this.#onWait = () => {}
      if (this.#wait !== undefined) tell(false, this.#wait)
    }
    const outcome = answer.kind === 'taken' ? 'granted' : 'refused'
    return { record: { ...this.#wanted(), outcome }, answer }
  }

  #wanted(wait: StandingWait | undefined = this.#wait): FundsWanted & { readonly budget: string } {
    const { budget = '', reservedUsd = 0, holders = 0 } = wait ?? {}
    return { neededUsd: this.#request.usd, neededTokens: 0, reservedUsd, reservedTokens: 0, holders, budget }
  }
}

function requestOf(run: Run, plan: RequestPlan, { nanos, maxTokens }: Grant): StandingRequest {
  const useful = Math.min(maxTokens, run.context.settings.minUsefulTokens)
  return {
    model: plan.model.id,
    usd: usdOf(nanos),
    leastUsd: usdOf(worstByReply(run, plan)(useful).nanos),
    mayWait: plan.isOptional !== true,
  }
}

/** What was taken is settled once, whoever comes to it first: the attempt, or whoever gives up what broke. */
function settledOnce(taken: StandingTaken): StandingTaken {
  let isOpen = true
  return {
    kind: 'taken',
    usd: taken.usd,
    settle(usd, isKnown) {
      if (isOpen) taken.settle(usd, isKnown)
      isOpen = false
    },
  }
}

/** What the run reserved, with the cap that the standing budgets leave it. */
export function withTaken(run: Run, plan: RequestPlan, reserved: Reserved, taken: StandingTaken): Reserved {
  const { grant } = reserved
  if (!grant.granted || nanosOf(taken.usd) >= grant.nanos) return reserved
  return { ...reserved, grant: loweredGrant(run, plan, grant, nanosOf(taken.usd)) }
}

/** It is not made, and says which budget has too little. */
export function refusedBy(run: Run, plan: RequestPlan, grant: Grant, budget: StandingBudget): OverBudget {
  const { settledUsd, limitUsd } = budget
  return {
    granted: false,
    currency: 'usd',
    needed: nanosOf(requestOf(run, plan, grant).leastUsd),
    available: Math.max(0, nanosOf(limitUsd) - nanosOf(settledUsd)),
    standing: budget,
  }
}
