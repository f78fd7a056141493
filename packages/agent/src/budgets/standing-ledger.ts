import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  HaltingError,
  type StandingBudget,
  type StandingBudgets,
  type StandingRefused,
  type StandingRequest,
  type StandingReservation,
  type StandingWait,
} from '@halting/core'
import { countsModel, leftOfBudget, messageOf, noLease, raiseLease } from '@halting/core/adapters'
import { isStopped, livenessOnSharedDisk, ownProcess, type ProcessIdentity } from '@halting/journal/files'
import { nanosOf, type BudgetRule } from './budget-rule.ts'
import { periodOf, resetsAt } from './calendar.ts'
import { LedgerProblem, type Attempt, type ChangeLedger, type LedgerChange, type LedgerFile } from './ledger-file.ts'
import {
  scopesOfEarlierWaiters,
  withoutWaiter,
  reserve,
  settle,
  settleDead,
  totalSince,
  withWaiter,
  type LedgerState,
  type PeriodPlace,
  type Reservation,
  type Settlement,
  type Waiter,
} from './ledger-state.ts'

/** Options of `StandingLedger`. */
export interface StandingLedgerOptions {
  readonly file: LedgerFile
  /** The budgets that apply to the folder of the session. */
  readonly rules: readonly BudgetRule[]
  /** Label of this session's ledger entries. */
  readonly session: string
  readonly repository: string
  /** The user ignores the budgets: no request is refused, and spending is recorded if the ledger can be written. */
  readonly ignored?: boolean
  /** Whether a model has a price. Only models with a price can be counted. */
  readonly isPriced?: (model: string) => boolean
  /** Called once when the ledger cannot be written and the user ignores the budgets. */
  readonly onUncounted?: (why: string) => void
  readonly now?: () => Date
}

type ReservedAnswer = {
  readonly kind: 'taken'
  readonly id: string
  readonly nanos: number
  readonly short?: StandingBudget
}
type ShortAnswer = { readonly kind: 'short'; readonly wait: StandingWait; readonly budget: StandingBudget }
type Answer = ReservedAnswer | StandingRefused | ShortAnswer

/** How often a waiting request checks whether the ledger has changed. */
const pauseMs = 10
/** How often a waiting request checks whether a process with a reservation or an earlier waiting request has died. */
const lookForDeadMs = 100
/** Maximum delay before a waiting request checks again, or before a failed write is retried. */
const longestPauseMs = 1_000
/** Maximum age of a reservation by a process with another host name on the same disk: no request takes longer. */
const longestRequestMs = 3_600_000

/** Standing budgets on a ledger file, which all processes of a user share. */
export class StandingLedger implements StandingBudgets {
  readonly names: readonly string[]
  readonly #options: StandingLedgerOptions
  readonly #own: ProcessIdentity = ownProcess()
  readonly #instance = randomUUID().slice(0, 8)
  #requests = 0
  /** Costs of requests that could not be written yet. */
  #unwritten: readonly Settlement[] = []
  #retry: NodeJS.Timeout | undefined
  #retries = 0
  #isUncounted = false

  constructor(options: StandingLedgerOptions) {
    this.#options = options
    this.names = options.rules.map(({ name }) => name)
  }

  /**
   * Checks that the ledger can be read and written, and settles reservations of dead processes.
   * @throws LedgerProblem
   */
  async open(signal?: AbortSignal): Promise<void> {
    const { file, ignored } = this.#options
    try {
      await file.open()
      // Writes even an unchanged state: a full disk must be detected before money is spent.
      await file.change(
        (state) => ({ state: { ...settleDead(state, isDead(this.#now())) }, result: undefined }),
        signal,
      )
    } catch (error) {
      if (ignored !== true || !(error instanceof LedgerProblem)) throw error
      this.#uncounted(error)
    }
  }

  countsFor(model: string): boolean {
    const { rules, ignored, isPriced } = this.#options
    if (!rules.some((rule) => countsModel(rule, model))) return false
    return ignored !== true || (!this.#isUncounted && isPriced?.(model) !== false)
  }

  take(
    request: StandingRequest,
    { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (wait: StandingWait) => void },
  ): StandingReservation | StandingRefused | Promise<StandingReservation | StandingRefused> {
    const rules = this.#options.rules.filter((rule) => countsModel(rule, request.model))
    if (rules.length === 0 || this.#isUncounted) return { kind: 'taken', usd: request.usd, settle() {} }
    this.#requests += 1
    const pending: PendingRequest = { request, rules, id: `${this.#instance}-${this.#requests}` }
    try {
      if (!signal.aborted) {
        const attempt = this.#attempt((state) => this.#answer(state, pending))
        if (attempt.kind === 'done' && attempt.result.kind !== 'short') return this.#outcome(attempt.result, request)
      }
    } catch (error) {
      return this.#failed(error, request)
    }
    return this.#wait(pending, signal, onWait).then(
      (answer) => this.#outcome(answer, request),
      (error: unknown) => this.#failed(error, request),
    )
  }

  /** Waits for a reservation. Rejects when aborted; nothing is reserved in that case. */
  async #wait(
    pending: PendingRequest,
    signal: AbortSignal,
    onWait: (wait: StandingWait) => void,
  ): Promise<ReservedAnswer | StandingRefused> {
    const { file } = this.#options
    const waitsFor = new Set<string>()
    try {
      for (;;) {
        let settled: readonly Settlement[] = []
        const answer = await file.change((state) => {
          settled = this.#unwritten
          return this.#answer(this.#withUnwritten(state), pending)
        }, signal)
        this.#markWritten(settled)
        if (answer.kind !== 'short') {
          if (!signal.aborted) return answer
          if (answer.kind === 'taken') this.#settle({ id: answer.id, nanos: 0, isKnown: true })
          signal.throwIfAborted()
        } else if (!waitsFor.has(answer.wait.budget)) {
          waitsFor.add(answer.wait.budget)
          onWait(answer.wait)
        }
        await this.#pause(pending, signal)
      }
    } catch (error) {
      // If this write fails, other processes detect that this process has ended.
      await file.change((state) => ({ state: withoutWaiter(state, pending.id), result: undefined })).catch(() => {})
      throw error
    }
  }

  /**
   * Waits until the request may be decided. Checks without the lock, which is rarely free when many processes wait.
   */
  async #pause(pending: PendingRequest, signal: AbortSignal): Promise<void> {
    const { file } = this.#options
    let stamp: string | undefined
    for (let ms = 0; ms < longestPauseMs; ms += pauseMs) {
      await wait(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      const now = file.stamp()
      const isDue = ms % lookForDeadMs === 0
      if (now === stamp && !isDue) continue
      stamp = now
      const state = this.#withUnwritten(file.read())
      if (this.#weigh(state, pending).result.kind !== 'short') return
      if (isDue && settleDead(state, isDead(this.#now())) !== state) return
    }
  }

  /** Decides a request. Checks for dead processes only if their reservations are needed. */
  #answer(state: LedgerState, pending: PendingRequest): LedgerChange<Answer> {
    const first = this.#weigh(state, pending)
    if (first.result.kind !== 'short') return first
    const living = settleDead(state, isDead(this.#now()))
    const answer = living === state ? first : this.#weigh(living, pending)
    if (answer.result.kind !== 'short' || pending.request.mayWait) return answer
    return { state: living, result: { kind: 'refused', budget: answer.result.budget } }
  }

  #weigh(state: LedgerState, { request, rules, id }: PendingRequest): LedgerChange<Answer> {
    const now = this.#now()
    const { ignored } = this.#options
    const budgets = rules.map((rule) => {
      const place: PeriodPlace = { scope: rule.scope, period: periodOf(rule.per, now) }
      const budget = { ...totalSince(state, place), limitNanos: ignored === true ? null : rule.limitNanos }
      return { rule, place, budget, inAllNanos: leftOfBudget({ ...budget, leasedNanos: budget.spentNanos }) }
    })
    const [least] = budgets.toSorted((one, other) => one.inAllNanos - other.inAllNanos)
    // The list has at least one element.
    if (least === undefined) throw new HaltingError('internal', 'No standing budget counts for the request.')
    const amount = Math.min(nanosOf(request.usd), least.inAllNanos)
    if (amount < nanosOf(request.leastUsd))
      return {
        state: withoutWaiter(state, id),
        result: { kind: 'refused', budget: standingBudget(least.rule, least.budget, now) },
      }
    const ahead: ReadonlySet<string> = ignored === true ? new Set() : scopesOfEarlierWaiters(state, id, isRunning)
    const lacking = budgets.filter(
      ({ budget, place }) =>
        ahead.has(place.scope) || raiseLease({ budget, lease: noLease }, 1, amount).lease.nanos < amount,
    )
    const [first] = lacking
    if (first !== undefined) {
      const scopes = [...new Set(lacking.map(({ place }) => place.scope))]
      const { leasedNanos, spentNanos, holders } = first.budget
      return {
        state: withWaiter(state, { id, process: this.#own, scopes, since: now.getTime() }),
        result: {
          kind: 'short',
          wait: { budget: first.rule.name, reservedUsd: (leasedNanos - spentNanos) / 1e9, holders },
          budget: standingBudget(first.rule, first.budget, now),
        },
      }
    }
    // Several limits of one scope count once in that scope.
    const places = [...new Map(budgets.map(({ place }) => [place.scope, place])).values()]
    const { session, repository } = this.#options
    const reservation: Reservation = {
      id,
      process: this.#own,
      session,
      model: request.model,
      repository,
      nanos: amount,
      places,
      since: now.getTime(),
    }
    const isShort = amount < nanosOf(request.usd)
    const short = isShort ? { short: standingBudget(least.rule, least.budget, now) } : {}
    return {
      state: reserve(withoutWaiter(state, id), reservation),
      result: { kind: 'taken', id, nanos: amount, ...short },
    }
  }

  #outcome(answer: ReservedAnswer | StandingRefused, { usd }: StandingRequest): StandingReservation | StandingRefused {
    if (answer.kind === 'refused') return answer
    const { id, nanos, short } = answer
    let isSettled = false
    return {
      kind: 'taken',
      usd: Math.min(usd, nanos / 1e9),
      ...(short !== undefined && { short }),
      settle: (spentUsd, isKnown) => {
        if (isSettled) return
        isSettled = true
        this.#settle({ id, nanos: nanosOf(spentUsd), isKnown })
      },
    }
  }

  #settle(settlement: Settlement): void {
    this.#unwritten = [...this.#unwritten, settlement]
    this.#write()
  }

  /** Changes the ledger now, together with costs that could not be written before. */
  #attempt<T>(change: ChangeLedger<T>): Attempt<T> {
    const settled = this.#unwritten
    const attempt = this.#options.file.attempt((state) => change(this.#withUnwritten(state)))
    if (attempt.kind === 'done') this.#markWritten(settled)
    return attempt
  }

  /** Writes costs of requests. If the write fails, retries, at the latest when the process ends. */
  #write(): boolean {
    if (this.#unwritten.length === 0) return true
    try {
      if (this.#attempt((state) => ({ state, result: undefined })).kind === 'done') return true
    } catch {
      // The reservation, which is higher than the cost, remains until then.
    }
    if (this.#retry === undefined) process.on('exit', this.#atExit)
    clearTimeout(this.#retry)
    this.#retries += 1
    // A lock is free within a millisecond; a disk takes longer to recover.
    this.#retry = setTimeout(() => this.#write(), Math.min(2 ** this.#retries, longestPauseMs)).unref()
    return false
  }

  #markWritten(settled: readonly Settlement[]): void {
    if (settled.length === 0) return
    this.#unwritten = this.#unwritten.filter((each) => !settled.includes(each))
    if (this.#unwritten.length > 0 || this.#retry === undefined) return
    clearTimeout(this.#retry)
    this.#retry = undefined
    this.#retries = 0
    process.off('exit', this.#atExit)
  }

  readonly #atExit = (): void => {
    const still = new Int32Array(new SharedArrayBuffer(4))
    for (let tries = 0; tries < 100 && !this.#write(); tries++) Atomics.wait(still, 0, 0, 2)
  }

  #withUnwritten(state: LedgerState): LedgerState {
    return this.#unwritten.reduce(settle, state)
  }

  #failed(error: unknown, { usd }: StandingRequest): StandingReservation {
    if (!(error instanceof LedgerProblem)) throw error
    if (this.#options.ignored === true) {
      this.#uncounted(error)
      return { kind: 'taken', usd, settle() {} }
    }
    throw new HaltingError(
      'callback',
      `${error.message} Until then no request is sent that a standing budget counts; --ignore-standing-budgets continues without them.`,
      { cause: error },
    )
  }

  #uncounted(error: unknown): void {
    if (this.#isUncounted) return
    this.#isUncounted = true
    this.#options.onUncounted?.(messageOf(error))
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date()
  }
}

interface PendingRequest {
  readonly request: StandingRequest
  readonly rules: readonly BudgetRule[]
  readonly id: string
}

/**
 * Whether a waiting process can continue as soon as it is allowed to. A process that was stopped (SIGSTOP) may not
 * continue for hours.
 */
function isRunning({ process: identity }: Waiter): boolean {
  return !isStopped(identity)
}

/**
 * Whether the process of an entry has ended. A process that cannot be observed counts as dead after the maximum
 * duration of a request.
 */
export function isDead(now: Date): (entry: Reservation | Waiter) => boolean {
  return ({ process: identity, since }) => {
    const liveness = livenessOnSharedDisk(identity)
    return liveness === 'dead' || (liveness === 'unknown' && Math.abs(now.getTime() - since) > longestRequestMs)
  }
}

/** The state of a budget in the period that contains a given time. */
export function standingBudget(rule: BudgetRule, sum: ReturnType<typeof totalSince>, now: Date): StandingBudget {
  return {
    name: rule.name,
    limitUsd: rule.limitNanos / 1e9,
    settledUsd: sum.spentNanos / 1e9,
    unknownUsd: sum.unknownNanos / 1e9,
    reservedUsd: (sum.leasedNanos - sum.spentNanos) / 1e9,
    resetsAt: resetsAt(rule.per, now),
  }
}
