import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import {
  leftOfBudget,
  messageOf,
  noLease,
  raiseLease,
  type Eventually,
  type StandingBudget,
  type StandingBudgets,
  type StandingRefused,
  type StandingRequest,
  type StandingTaken,
  type StandingWait,
} from '@halting/core/adapters'
import { livenessOnOneDisk, ownProcess, type ProcessIdentity } from '@halting/journal/files'
import { countsModel, nanosOf, type BudgetRule } from './budget-rule.ts'
import { periodOf, resetsAt } from './calendar.ts'
import { LedgerProblem, type LedgerChange, type LedgerFile } from './ledger-file.ts'
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
  /** Called once where the ledger cannot be written and that is ignored. */
  readonly onUncounted?: (why: string) => void
  readonly now?: () => Date
}

type Taken = { readonly kind: 'taken'; readonly id: string; readonly nanos: number }
type Short = { readonly kind: 'short'; readonly wait: StandingWait }
type Answer = Taken | StandingRefused | Short

/** Requests wait so long at most before they look again for reservations of dead processes. */
const longestPauseMs = 500
const shortestPauseMs = 10
/** A process of another host name on the same disk: no request takes longer. */
const longestRequestMs = 3_600_000

/** Standing budgets on a ledger file, which all processes of a person share. */
export class StandingLedger implements StandingBudgets {
  readonly names: readonly string[]
  readonly #options: StandingLedgerOptions
  readonly #own: ProcessIdentity = ownProcess()
  readonly #instance = randomUUID().slice(0, 8)
  readonly #changed = new Set<() => void>()
  #requests = 0
  /** What requests came to, and could not be written yet. */
  #unwritten: readonly Settlement[] = []
  #retry: NodeJS.Timeout | undefined
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
      await file.change((state) => ({ state: { ...settleDead(state, isDead(this.#now())) }, result: undefined }), signal)
    } catch (error) {
      if (ignored !== true || !(error instanceof LedgerProblem)) throw error
      this.#uncounted(error)
    }
  }

  take(
    request: StandingRequest,
    { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (wait: StandingWait) => void },
  ): Eventually<StandingTaken | StandingRefused> {
    const rules = this.#options.rules.filter((rule) => countsModel(rule, request.model))
    if (rules.length === 0 || this.#isUncounted) return { kind: 'taken', usd: request.usd, settle() {} }
    this.#requests += 1
    const asked: Asked = { request, rules, id: `${this.#instance}-${this.#requests}` }
    try {
      if (!signal.aborted) {
        const attempt = this.#options.file.attempt((state) => this.#answer(state, asked))
        if (attempt.kind === 'done' && attempt.result.kind !== 'short') return this.#told(attempt.result, request)
      }
    } catch (error) {
      return this.#failed(error, request)
    }
    return this.#wait(asked, signal, onWait).then(
      (answer) => this.#told(answer, request),
      (error: unknown) => this.#failed(error, request),
    )
  }

  /** Resolves with nothing taken that is not answered. */
  async #wait(
    asked: Asked,
    signal: AbortSignal,
    onWait: (wait: StandingWait) => void,
  ): Promise<Taken | StandingRefused> {
    const { file } = this.#options
    let pauseMs = shortestPauseMs
    let waitsFor: string | undefined
    try {
      for (;;) {
        const answer = await file.change((state) => this.#answer(state, asked), signal)
        if (answer.kind !== 'short') {
          if (!signal.aborted) return answer
          if (answer.kind === 'taken') this.#settle({ id: answer.id, nanos: 0, isKnown: true })
          signal.throwIfAborted()
        } else if (answer.wait.budget !== waitsFor) {
          waitsFor = answer.wait.budget
          onWait(answer.wait)
        }
        await this.#pause(pauseMs, signal)
        pauseMs = Math.min(2 * pauseMs, longestPauseMs / 10)
      }
    } catch (error) {
      // Where that is not possible, others see that this process does not wait any more once it has ended.
      await file
        .change((state) => ({ state: leave(state, asked.id), result: undefined }))
        .catch(() => {})
      throw error
    }
  }

  /** Until the ledger has changed, or so long that somebody may have died. */
  async #pause(stepMs: number, signal: AbortSignal): Promise<void> {
    const { file } = this.#options
    const before = file.stamp()
    let isChanged = false
    const changed = (): void => {
      isChanged = true
    }
    this.#changed.add(changed)
    try {
      for (let ms = 0; ms < longestPauseMs && !isChanged && file.stamp() === before; ms += stepMs)
        await wait(stepMs, undefined, { signal })
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      this.#changed.delete(changed)
    }
  }

  #answer(before: LedgerState, asked: Asked): LedgerChange<Answer> {
    const written = this.#unwritten
    const state = this.#withUnwritten(before)
    const first = this.#weigh(state, asked)
    const living = first.result.kind === 'short' ? settleDead(state, isDead(this.#now())) : state
    const answer = living === state ? first : this.#weigh(living, asked)
    if (written.length > 0) queueMicrotask(() => this.#wrote(written))
    return answer
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
    const ahead: ReadonlySet<string> = ignored === true ? new Set() : claimedBefore(state, id)
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
    return { state: reserve(leave(state, id), reservation), result: { kind: 'taken', id, nanos: wanted } }
  }

  #told(answer: Taken | StandingRefused, { usd }: StandingRequest): StandingTaken | StandingRefused {
    if (answer.kind === 'refused') return answer
    const { id, nanos } = answer
    let isSettled = false
    return {
      kind: 'taken',
      usd: Math.min(usd, nanos / 1e9),
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

  /** Writes what requests came to; where that is not possible at this moment it is tried again, at the latest when the process ends. */
  #write(): void {
    if (this.#unwritten.length === 0) return
    const written = this.#unwritten
    try {
      const attempt = this.#options.file.attempt((state) => ({ state: this.#withUnwritten(state), result: undefined }))
      if (attempt.kind === 'done') {
        this.#wrote(written)
        return
      }
    } catch {
      // It stays reserved meanwhile, which is more.
    }
    this.#retryLater()
  }

  #wrote(written: readonly Settlement[]): void {
    this.#unwritten = this.#unwritten.filter((each) => !written.includes(each))
    if (this.#unwritten.length === 0 && this.#retry !== undefined) {
      clearTimeout(this.#retry)
      this.#retry = undefined
      process.off('exit', this.#atExit)
    }
    for (const changed of this.#changed) changed()
  }

  #retries = 0

  #retryLater(): void {
    if (this.#retry === undefined) process.on('exit', this.#atExit)
    clearTimeout(this.#retry)
    // A lock is free within a millisecond, a disk not so soon.
    this.#retries += 1
    this.#retry = setTimeout(() => this.#write(), Math.min(2 ** Math.min(this.#retries, 9), 500))
  }

  readonly #atExit = (): void => {
    const written = this.#unwritten
    for (let tries = 0; tries < 200 && this.#unwritten.length > 0; tries++)
      try {
        const attempt = this.#options.file.attempt((state) => ({
          state: this.#withUnwritten(state),
          result: undefined,
        }))
        if (attempt.kind === 'done') this.#unwritten = this.#unwritten.filter((each) => !written.includes(each))
        else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
      } catch {
        return
      }
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

/** Whether the process of an entry has ended. One that cannot be looked at is taken for dead when no request takes so long. */
export function isDead(now: Date): (entry: Reservation | Waiter) => boolean {
  return ({ process: identity, since }) => {
    const liveness = livenessOnOneDisk(identity)
    return liveness === 'dead' || (liveness === 'unknown' && Math.abs(now.getTime() - since) > longestRequestMs)
  }
}

/** A budget as it is in the period of a moment. */
export function standingBudget(
  rule: BudgetRule,
  sum: ReturnType<typeof sumFrom>,
  now: Date,
): StandingBudget {
  return {
    name: rule.name,
    limitUsd: rule.limitNanos / 1e9,
    settledUsd: sum.spentNanos / 1e9,
    unknownUsd: sum.unknownNanos / 1e9,
    reservedUsd: (sum.leasedNanos - sum.spentNanos) / 1e9,
    resetsAt: resetsAt(rule.per, now),
  }
}
