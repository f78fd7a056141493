import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  HaltingError,
  type StandingBudget,
  type StandingBudgets,
  type StandingRefused,
  type StandingRequest,
  type StandingTaken,
  type StandingWait,
} from '@halting/core'
import { countsModel, leftOfBudget, messageOf, noLease, raiseLease } from '@halting/core/adapters'
import { isStopped, livenessOnOneDisk, ownProcess, type ProcessIdentity } from '@halting/journal/files'
import { nanosOf, type BudgetRule } from './budget-rule.ts'
import { periodOf, resetsAt } from './calendar.ts'
import { LedgerProblem, type Attempt, type ChangeLedger, type LedgerChange, type LedgerFile } from './ledger-file.ts'
import {
  claimedBefore,
  leave,
  reserve,
  settle,
  settleDead,
  sumFrom,
  waitFor,
  type LedgerState,
  type PeriodPlace,
  type Reservation,
  type Settlement,
  type Waiter,
} from './ledger-state.ts'

/** What the standing budgets of a session are made of. */
export interface StandingLedgerOptions {
  readonly file: LedgerFile
  /** Those that count in the folder of the session. */
  readonly rules: readonly BudgetRule[]
  /** Names of what spends, for the entries of the ledger. */
  readonly session: string
  readonly repository: string
  /** The person's word: nothing is refused, and what is spent is counted as far as it can be written. */
  readonly ignored?: boolean
  /** Whether a model has a price. Only one with a price can be counted. */
  readonly isPriced?: (model: string) => boolean
  /** Called once where the ledger cannot be written and that is ignored. */
  readonly onUncounted?: (why: string) => void
  readonly now?: () => Date
}

type Taken = { readonly kind: 'taken'; readonly id: string; readonly nanos: number; readonly short?: StandingBudget }
type Short = { readonly kind: 'short'; readonly wait: StandingWait; readonly budget: StandingBudget }
type Answer = Taken | StandingRefused | Short

/** So often a request that waits looks whether the ledger has changed. */
const pauseMs = 10
/** So often it looks whether a process has died that has reserved something, or waits before it. */
const lookForDeadMs = 100
/** A wait asks again after so long in any case, and so does what could not be written. */
const longestPauseMs = 1_000
/** A process of another host name on the same disk: no request takes longer. */
const longestRequestMs = 3_600_000

/** Standing budgets on a ledger file, which all processes of a person share. */
export class StandingLedger implements StandingBudgets {
  readonly names: readonly string[]
  readonly #options: StandingLedgerOptions
  readonly #own: ProcessIdentity = ownProcess()
  readonly #instance = randomUUID().slice(0, 8)
  #requests = 0
  /** What requests came to, and could not be written yet. */
  #unwritten: readonly Settlement[] = []
  #retry: NodeJS.Timeout | undefined
  #retries = 0
  #isUncounted = false

  constructor(options: StandingLedgerOptions) {
    this.#options = options
    this.names = options.rules.map(({ name }) => name)
  }

  /** Looks whether the ledger can be read and written, and settles what dead processes have reserved. @throws LedgerProblem */
  async open(signal?: AbortSignal): Promise<void> {
    const { file, ignored } = this.#options
    try {
      await file.open()
      // Written also where nothing changes: a full disk is found before anything is spent.
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
  ): StandingTaken | StandingRefused | Promise<StandingTaken | StandingRefused> {
    const rules = this.#options.rules.filter((rule) => countsModel(rule, request.model))
    if (rules.length === 0 || this.#isUncounted) return { kind: 'taken', usd: request.usd, settle() {} }
    this.#requests += 1
    const asked: Asked = { request, rules, id: `${this.#instance}-${this.#requests}` }
    try {
      if (!signal.aborted) {
        const attempt = this.#attempt((state) => this.#answer(state, asked))
        if (attempt.kind === 'done' && attempt.result.kind !== 'short') return this.#outcome(attempt.result, request)
      }
    } catch (error) {
      return this.#failed(error, request)
    }
    return this.#wait(asked, signal, onWait).then(
      (answer) => this.#outcome(answer, request),
      (error: unknown) => this.#failed(error, request),
    )
  }

  /** Rejects with nothing taken when it is aborted. */
  async #wait(
    asked: Asked,
    signal: AbortSignal,
    onWait: (wait: StandingWait) => void,
  ): Promise<Taken | StandingRefused> {
    const { file } = this.#options
    const waitsFor = new Set<string>()
    try {
      for (;;) {
        let written: readonly Settlement[] = []
        const answer = await file.change((state) => {
          written = this.#unwritten
          return this.#answer(this.#withUnwritten(state), asked)
        }, signal)
        this.#wrote(written)
        if (answer.kind !== 'short') {
          if (!signal.aborted) return answer
          if (answer.kind === 'taken') this.#settle({ id: answer.id, nanos: 0, isKnown: true })
          signal.throwIfAborted()
        } else if (!waitsFor.has(answer.wait.budget)) {
          waitsFor.add(answer.wait.budget)
          onWait(answer.wait)
        }
        await this.#pause(asked, signal)
      }
    } catch (error) {
      // Where that is not possible, others see that this process does not wait any more once it has ended.
      await file.change((state) => ({ state: leave(state, asked.id), result: undefined })).catch(() => {})
      throw error
    }
  }

  /** Until the request may have its answer, by what can be read without the lock; others hold that all the time where many wait. */
  async #pause(asked: Asked, signal: AbortSignal): Promise<void> {
    const { file } = this.#options
    let stamp: string | undefined
    for (let ms = 0; ms < longestPauseMs; ms += pauseMs) {
      await wait(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      const now = file.stamp()
      const isDue = ms % lookForDeadMs === 0
      if (now === stamp && !isDue) continue
      stamp = now
      const state = this.#withUnwritten(file.read())
      if (this.#weigh(state, asked).result.kind !== 'short') return
      if (isDue && settleDead(state, isDead(this.#now())) !== state) return
    }
  }

  /** What dead processes have reserved is looked at only where it is missing. */
  #answer(state: LedgerState, asked: Asked): LedgerChange<Answer> {
    const first = this.#weigh(state, asked)
    if (first.result.kind !== 'short') return first
    const living = settleDead(state, isDead(this.#now()))
    const answer = living === state ? first : this.#weigh(living, asked)
    if (answer.result.kind !== 'short' || asked.request.mayWait) return answer
    return { state: living, result: { kind: 'refused', budget: answer.result.budget } }
  }

  #weigh(state: LedgerState, { request, rules, id }: Asked): LedgerChange<Answer> {
    const now = this.#now()
    const { ignored } = this.#options
    const budgets = rules.map((rule) => {
      const place: PeriodPlace = { scope: rule.scope, period: periodOf(rule.per, now) }
      const budget = { ...sumFrom(state, place), limitNanos: ignored === true ? null : rule.limitNanos }
      return { rule, place, budget, inAllNanos: leftOfBudget({ ...budget, leasedNanos: budget.spentNanos }) }
    })
    const [least] = budgets.toSorted((one, other) => one.inAllNanos - other.inAllNanos)
    // There is at least one.
    if (least === undefined) throw new HaltingError('internal', 'No standing budget counts for the request.')
    const wanted = Math.min(nanosOf(request.usd), least.inAllNanos)
    if (wanted < nanosOf(request.leastUsd))
      return {
        state: leave(state, id),
        result: { kind: 'refused', budget: standingBudget(least.rule, least.budget, now) },
      }
    const ahead: ReadonlySet<string> = ignored === true ? new Set() : claimedBefore(state, id, isRunning)
    const lacking = budgets.filter(
      ({ budget, place }) =>
        ahead.has(place.scope) || raiseLease({ budget, lease: noLease }, 1, wanted).lease.nanos < wanted,
    )
    const [first] = lacking
    if (first !== undefined) {
      const scopes = [...new Set(lacking.map(({ place }) => place.scope))]
      const { leasedNanos, spentNanos, holders } = first.budget
      return {
        state: waitFor(state, { id, process: this.#own, scopes, since: now.getTime() }),
        result: {
          kind: 'short',
          wait: { budget: first.rule.name, reservedUsd: (leasedNanos - spentNanos) / 1e9, holders },
          budget: standingBudget(first.rule, first.budget, now),
        },
      }
    }
    // Budgets of one scope with several limits count in it once.
    const places = [...new Map(budgets.map(({ place }) => [place.scope, place])).values()]
    const { session, repository } = this.#options
    const reservation: Reservation = {
      id,
      process: this.#own,
      session,
      model: request.model,
      repository,
      nanos: wanted,
      places,
      since: now.getTime(),
    }
    const isShort = wanted < nanosOf(request.usd)
    const short = isShort ? { short: standingBudget(least.rule, least.budget, now) } : {}
    return { state: reserve(leave(state, id), reservation), result: { kind: 'taken', id, nanos: wanted, ...short } }
  }

  #outcome(answer: Taken | StandingRefused, { usd }: StandingRequest): StandingTaken | StandingRefused {
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

  /** Changes the ledger at once, with what requests came to that could not be written before. */
  #attempt<T>(change: ChangeLedger<T>): Attempt<T> {
    const written = this.#unwritten
    const attempt = this.#options.file.attempt((state) => change(this.#withUnwritten(state)))
    if (attempt.kind === 'done') this.#wrote(written)
    return attempt
  }

  /** Writes what requests came to; where that is not possible at this moment it is tried again, at the latest when the process ends. */
  #write(): boolean {
    if (this.#unwritten.length === 0) return true
    try {
      if (this.#attempt((state) => ({ state, result: undefined })).kind === 'done') return true
    } catch {
      // It stays reserved meanwhile, which is more.
    }
    if (this.#retry === undefined) process.on('exit', this.#atExit)
    clearTimeout(this.#retry)
    this.#retries += 1
    // A lock is free within a millisecond, a disk not so soon.
    this.#retry = setTimeout(() => this.#write(), Math.min(2 ** this.#retries, longestPauseMs)).unref()
    return false
  }

  #wrote(written: readonly Settlement[]): void {
    if (written.length === 0) return
    this.#unwritten = this.#unwritten.filter((each) => !written.includes(each))
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

  #failed(error: unknown, { usd }: StandingRequest): StandingTaken {
    if (!(error instanceof LedgerProblem)) throw error
    if (this.#options.ignored === true) {
      this.#uncounted(error)
      return { kind: 'taken', usd, settle() {} }
    }
    throw new HaltingError(
      'callback',
      `${error.message} Until then no request is made that a standing budget counts; --ignore-standing-budgets goes on without.`,
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

interface Asked {
  readonly request: StandingRequest
  readonly rules: readonly BudgetRule[]
  readonly id: string
}

/** Whether a process that waits goes on as soon as it may: one that a person has stopped does not, for hours perhaps. */
function isRunning({ process: identity }: Waiter): boolean {
  return !isStopped(identity)
}

/** Whether the process of an entry has ended. One that cannot be looked at is taken for dead when no request takes so long. */
export function isDead(now: Date): (entry: Reservation | Waiter) => boolean {
  return ({ process: identity, since }) => {
    const liveness = livenessOnOneDisk(identity)
    return liveness === 'dead' || (liveness === 'unknown' && Math.abs(now.getTime() - since) > longestRequestMs)
  }
}

/** A budget as it is in the period of a moment. */
export function standingBudget(rule: BudgetRule, sum: ReturnType<typeof sumFrom>, now: Date): StandingBudget {
  return {
    name: rule.name,
    limitUsd: rule.limitNanos / 1e9,
    settledUsd: sum.spentNanos / 1e9,
    unknownUsd: sum.unknownNanos / 1e9,
    reservedUsd: (sum.leasedNanos - sum.spentNanos) / 1e9,
    resetsAt: resetsAt(rule.per, now),
  }
}
