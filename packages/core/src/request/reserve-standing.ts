import type { AbortCause } from '../values/abort.ts'
import { nanosOf, usdOf } from '../model/prices.ts'
import type {
  StandingBudget,
  StandingRefused,
  StandingRequest,
  StandingReservation,
  StandingWait,
} from '../limits/standing-budgets.ts'
import type { Emit, FundsWanted } from '../state/events.ts'
import { HaltingError } from '../values/errors.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import { fieldsOf } from '../values/validators.ts'
import { isThenable } from '../values/settle.ts'
import type { Run } from '../run/run.ts'
import type { Grant, OverBudget } from './grant.ts'
import type { RequestPlan } from './request-plan.ts'
import { loweredGrant, type ReservedGrant } from './reserve.ts'
import { worstCaseByReply } from './charge.ts'

// Reserves for a request in budgets that span runs (spec R-STAND-1). This is the last step before the request: while it
// waits, it retains its reservations in the limits of the run. No request that has reserved in a standing budget waits
// for anything.

/** The outcome of a wait for standing budgets, as recorded. */
export type StandingWaited = FundsWanted & {
  readonly budget: string
  readonly outcome: 'granted' | 'refused' | 'aborted'
  readonly cause?: AbortCause
}

export type StandingAnswer = StandingReservation | StandingRefused

/** Whether requests of this plan reserve in standing budgets. */
export function usesStandingBudgets({ context }: Run, { model }: Pick<RequestPlan, 'model'>): boolean {
  return context.settings.standing?.countsFor(model.id) === true
}

/** One request to the standing budgets of a run. */
export class StandingBudgetRequest {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #request: StandingRequest
  /** Aborted when the run is aborted or the question has timed out. */
  readonly #ended = new AbortController()
  #wait: StandingWait | undefined
  #onWait: (wait: StandingWait) => void = () => {}

  constructor(run: Run, plan: RequestPlan, grant: Grant) {
    this.#run = run
    this.#plan = plan
    this.#request = standingRequestOf(run, plan, grant)
  }

  /** Returns an answer, or a promise of one. @throws what the budgets throw, and HaltingError for an invalid answer. */
  ask(): MaybePromise<StandingAnswer> {
    const { standing } = this.#run.context.settings
    if (standing === null) throw new Error('there are no standing budgets to ask')
    const { usd, leastUsd } = this.#request
    const pendingAnswer: unknown = standing.take(this.#request, {
      signal: this.#ended.signal,
      onWait: (wait) => {
        this.#wait = wait
        this.#onWait(wait)
      },
    })
    const read = (value: unknown): StandingAnswer => validAnswer(value, { usd, leastUsd })
    return isThenable(pendingAnswer) ? Promise.resolve(pendingAnswer).then(read) : read(pendingAnswer)
  }

  /** Waits for the answer, reports the wait, and returns what to record. A reservation that arrives after an abort is returned. */
  async wait(
    pendingAnswer: Promise<StandingAnswer>,
    emit: Emit,
  ): Promise<{ readonly record: StandingWaited; readonly answer?: StandingAnswer }> {
    const reportWait = (isWaiting: boolean, wait: StandingWait): void => {
      if (this.#run.ports.hasListener()) emit({ type: 'budget_wait', isWaiting, ...this.#figuresOf(wait) })
    }
    if (this.#wait !== undefined) reportWait(true, this.#wait)
    this.#onWait = (wait) => reportWait(true, wait)
    try {
      const answer = await this.#orUndefinedAtEnd(pendingAnswer)
      if (answer === undefined) {
        const cause = this.#run.ports.abort.causeNow()
        return { record: { ...this.#figuresOf(), outcome: 'aborted', ...(cause !== undefined && { cause }) } }
      }
      const outcome = answer.kind === 'taken' ? 'granted' : 'refused'
      return { record: { ...this.#figuresOf(), outcome }, answer }
    } finally {
      this.#onWait = () => {}
      if (this.#wait !== undefined) reportWait(false, this.#wait)
    }
  }

  /** Ends the wait if its step fails before the answer is read. A reservation that arrives later is returned. */
  leaveOnFailure(
    waited: MaybePromise<unknown>,
    pendingAnswer: MaybePromise<StandingAnswer>,
    isHeard: () => boolean,
  ): void {
    if (!(waited instanceof Promise && pendingAnswer instanceof Promise)) return
    waited.catch(() => {
      if (isHeard()) return
      this.#ended.abort()
      pendingAnswer.then(returnReservation, () => undefined)
    })
  }

  /** The answer, or undefined if the wait for it has ended. */
  #orUndefinedAtEnd(pendingAnswer: Promise<StandingAnswer>): Promise<StandingAnswer | undefined> {
    const { abort } = this.#run.ports
    const { cutOff } = this.#plan
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        abort.unlisten(listener)
        cutOff?.removeEventListener('abort', end)
      }
      const end = (): void => {
        settled()
        pendingAnswer.then(returnReservation, () => undefined)
        this.#ended.abort()
        resolve(undefined)
      }
      const listener = { onAbort: end }
      if (abort.causeNow() !== undefined || cutOff?.aborted === true) return end()
      abort.listen(listener)
      cutOff?.addEventListener('abort', end, { once: true })
      pendingAnswer.then(
        (answer) => {
          settled()
          resolve(answer)
        },
        (error: unknown) => {
          settled()
          reject(error)
        },
      )
    })
  }

  #figuresOf(wait: StandingWait | undefined = this.#wait): FundsWanted & { readonly budget: string } {
    const { budget = '', reservedUsd = 0, holders = 0 } = wait ?? {}
    return { neededUsd: this.#request.usd, neededTokens: 0, reservedUsd, reservedTokens: 0, holders, budget }
  }
}

/** Returns a reservation that is no longer needed. */
function returnReservation(answer: StandingAnswer): void {
  if (answer.kind === 'taken') answer.settle(0, true)
}

/**
 * Validates an answer, since JavaScript code may return anything.
 * @throws HaltingError for an invalid answer, after returning its reservation: the request is not made.
 */
function validAnswer(value: unknown, { usd, leastUsd }: Pick<StandingRequest, 'usd' | 'leastUsd'>): StandingAnswer {
  const { kind, usd: reservedUsd, settle, budget, short } = fieldsOf(value) ?? {}
  if (kind === 'refused' && isStandingBudget(budget)) return { kind, budget }
  if (kind === 'taken' && typeof settle === 'function') {
    const answer = { ...withSingleSettle(value as StandingReservation), ...(isStandingBudget(short) && { short }) }
    if (typeof reservedUsd === 'number' && reservedUsd >= leastUsd && reservedUsd <= usd) return answer
    returnReservation(answer)
  }
  throw new HaltingError(
    'callback',
    `The standing budgets returned an invalid answer: expected { kind: 'taken', usd, settle } with $${leastUsd} to $${usd}, or { kind: 'refused', budget }.`,
  )
}

function isStandingBudget(value: unknown): value is StandingBudget {
  const { name, limitUsd, settledUsd, resetsAt } = fieldsOf(value) ?? {}
  const isNamed = typeof name === 'string' && typeof resetsAt === 'string'
  return isNamed && Number.isFinite(limitUsd) && Number.isFinite(settledUsd)
}

function standingRequestOf(run: Run, plan: RequestPlan, { nanos, maxTokens }: Grant): StandingRequest {
  const useful = Math.min(maxTokens, run.context.settings.minUsefulTokens)
  return {
    model: plan.model.id,
    usd: usdOf(nanos),
    leastUsd: usdOf(worstCaseByReply(run, plan)(useful).nanos),
    mayWait: plan.isOptional !== true,
  }
}

/** Makes `settle` idempotent: it may be called by the attempt, or by the cleanup after a failure. */
function withSingleSettle(reservation: StandingReservation): StandingReservation {
  let isOpen = true
  return {
    kind: 'taken',
    usd: reservation.usd,
    settle(usd, isKnown) {
      if (isOpen) reservation.settle(usd, isKnown)
      isOpen = false
    },
  }
}

/** The run's reservation with the cap that the standing budgets allow. */
export function withStandingReservation(
  run: Run,
  plan: RequestPlan,
  reserved: ReservedGrant,
  standing: StandingReservation,
): ReservedGrant {
  const { grant } = reserved
  if (!grant.granted || nanosOf(standing.usd) >= grant.nanos) return reserved
  return { ...reserved, grant: loweredGrant(run, plan, grant, standing) }
}

/** The outcome for a request that is not made. It names the budget that is too small. */
export function refusalBy(run: Run, plan: RequestPlan, grant: Grant, budget: StandingBudget): OverBudget {
  const { settledUsd, limitUsd } = budget
  return {
    granted: false,
    currency: 'usd',
    needed: nanosOf(standingRequestOf(run, plan, grant).leastUsd),
    available: Math.max(0, nanosOf(limitUsd) - nanosOf(settledUsd)),
    standing: budget,
  }
}
