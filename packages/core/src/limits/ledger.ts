import { HaltingError } from '../values/errors.ts'
import type { BudgetLease } from './lease.ts'
import { LeaseLine } from './lease-line.ts'
import { nanosOf, type NanoUsd } from '../model/prices.ts'
import { FundsQueue } from './funds-queue.ts'

/** An amount in both currencies of the ledger. */
export type Amount = {
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: NanoUsd
  /** Input and output tokens. */
  readonly tokens: number
}

export const zeroAmount: Amount = Object.freeze({ nanos: 0, tokens: 0 })

/** Options for creating a ledger. */
interface LedgerPlace {
  /** Whether the maximum cost of every request is computed even if the ledger has no limit. */
  readonly isMeasured?: boolean
  /** The parent ledger. */
  readonly above?: Ledger | undefined
}

/** The limits of a ledger. */
export interface LedgerLimits {
  /** Infinity when there is no dollar budget. */
  readonly nanos: NanoUsd
  /** Infinity when there is no token budget. */
  readonly tokens: number
}

const noLimits: LedgerLimits = Object.freeze({ nanos: Infinity, tokens: Infinity })

/** The current figures of a ledger. */
export interface LedgerFigures {
  /** The amount of finished requests. */
  readonly settled: Amount
  /** The worst case of requests in progress. */
  readonly reserved: Amount
  /** The part of `settled` charged at the worst case because the service reported no usage. */
  readonly unknown: Amount
  /** What can still be reserved. */
  readonly available: Amount
}

/** The room that a request must leave, by the number of tokens of its reply. */
export type Room = (outputTokens: number) => Amount

/** An amount to leave free on the ledger of the run that will need it. A subagent's own limits are not affected by it. */
export interface Reserve {
  readonly ledger: Ledger
  readonly room: Room
}

/** A reserved amount, until it is settled. */
export type Reservation = {
  /** The reserved amount. */
  readonly amount: Amount
  /** The lines on which it is reserved, innermost first. */
  readonly lines: readonly Line[]
}

/** One limit and the amounts that count against it. A ledger has its own line and the lines of all ledgers above it. */
export interface Line {
  /** Whether it is a budget shared with other sessions, which may grow on request. */
  readonly isLease: boolean
  /** Its lease, if it has one. */
  lease?: LeaseLine
  /** Whether it is a budget shared by several runs of this process. It does not count what earlier processes recorded. */
  readonly isShared: boolean
  /** Whether it belongs to a subagent. A resume adds its recorded spending when the record is read. */
  readonly isOfAgent: boolean
  settled: Amount
  reserved: Amount
  /** Number of open reservations. */
  holders: number
  unknown: Amount
  limits: LedgerLimits
}

// Spec R-BUD-1, R-BUD-6.
/**
 * Limits and spending of a run. A subagent has a branch: whatever it reserves is also reserved on its parent. L1:
 * settled + reserved never exceeds a limit, in the branch or above it, unless that limit was lowered since. L2: A
 * reservation is settled once. L3: No figure is ever negative.
 */
export class Ledger {
  /** Requests that wait until reservations are settled: one queue for the whole tree. */
  readonly queue: FundsQueue<Line>
  /**
   * Whether the maximum cost of every request is computed before the request is made, even without a limit here, because
   * a budget outside the ledger needs it.
   */
  readonly #isMeasured: boolean
  readonly #lines: readonly Line[]
  #open: Set<Reservation> | undefined

  private constructor(lines: readonly Line[], isMeasured: boolean, queue = new FundsQueue<Line>()) {
    this.#lines = lines
    this.#isMeasured = isMeasured
    this.queue = queue
  }

  /** Creates a ledger with these limits; a missing limit is Infinity. */
  static create(
    limits: Partial<LedgerLimits> = {},
    {
      isMeasured = false,
      isShared = false,
      above,
    }: LedgerPlace & {
      /** Whether the ledger belongs to a budget of several runs. Default: false. */
      readonly isShared?: boolean
    } = {},
  ): Ledger {
    return new Ledger(
      [{ ...newLine(limits), isShared }, ...(above === undefined ? [] : above.#lines)],
      isMeasured,
      above?.queue,
    )
  }

  /** Creates a ledger under a lease: its limit is the current share of the lease. */
  static under(
    lease: BudgetLease,
    limits: Partial<LedgerLimits> = {},
    { isMeasured = false, above }: LedgerPlace = {},
  ): Ledger {
    const line: Line = {
      ...newLine({}),
      isLease: true,
      limits: {
        get nanos() {
          return nanosOf(lease.usd)
        },
        tokens: Infinity,
      },
    }
    line.lease = new LeaseLine(lease, line)
    return new Ledger([newLine(limits), line, ...(above === undefined ? [] : above.#lines)], isMeasured, above?.queue)
  }

  /** Creates a child ledger. `limits` can only reduce what is available. */
  branch(limits: Partial<LedgerLimits> = {}): Ledger {
    return new Ledger([newLine(limits), ...this.#lines], this.#isMeasured, this.queue)
  }

  /** A child ledger for a subagent with its own limits. */
  branchOfAgent(limits: Partial<LedgerLimits> = {}): Ledger {
    return new Ledger([{ ...newLine(limits), isOfAgent: true }, ...this.#lines], this.#isMeasured, this.queue)
  }

  /** The limits of this ledger itself; those above it may be narrower. */
  get limits(): LedgerLimits {
    return this.#lines[0]?.limits ?? noLimits
  }

  /** Sets the limits of this ledger, not of those above it. Spent amounts remain, even above a lowered limit. */
  setLimits({ nanos = Infinity, tokens = Infinity }: Partial<LedgerLimits>): void {
    const ownLine = this.#lines[0]
    if (ownLine !== undefined) ownLine.limits = limitsWith({ nanos, tokens })
    this.queue.retryWaiting()
  }

  /** Whether some limit is finite, or a budget outside the ledger applies. Otherwise the worst case is not computed. */
  get limited(): boolean {
    return this.#isMeasured || this.isBounded
  }

  /** True when some limit of this ledger is finite. */
  get isBounded(): boolean {
    for (const { limits } of this.#lines) if (limits.nanos !== Infinity || limits.tokens !== Infinity) return true
    return false
  }

  /** The amount that can still be reserved. */
  available(): Amount {
    return availableOnLine(this.#lines)
  }

  /** What could be reserved if its lease were unlimited. */
  availableIgnoringLease(): Amount {
    return availableOnLine(this.#lines.filter(({ isLease }) => !isLease))
  }

  /** What could be reserved if the budget shared with other runs were unlimited. */
  availableIgnoringShared(): Amount {
    return availableOnLine(this.#lines.filter(({ isShared }) => !isShared))
  }

  /** What could be reserved if all reservations were returned. */
  unspent(): Amount {
    return {
      nanos: Math.min(...this.#lines.map(({ limits, settled }) => limits.nanos - settled.nanos)),
      tokens: Math.min(...this.#lines.map(({ limits, settled }) => limits.tokens - settled.tokens)),
    }
  }

  /** The lines that are currently too short for the amount. */
  linesShortOf({ nanos, tokens }: Amount): readonly Line[] {
    return this.#lines.filter((line) => {
      const available = availableOnLine([line])
      return nanos > available.nanos || tokens > available.tokens
    })
  }

  /** The lines of this ledger that are in the set. */
  linesIn(set: ReadonlySet<Line>): readonly Line[] {
    return set.size === 0 ? [] : this.#lines.filter((line) => set.has(line))
  }

  /** The limit with the least left once all reservations have been returned, and the amount settled against it. */
  narrowest(currency: keyof Amount): {
    /** The limit, in US dollars or tokens. */
    readonly limit: number
    /** The amount settled against it. */
    readonly settled: number
  } {
    const figures = this.#lines.map(({ limits, settled }) => ({ limit: limits[currency], settled: settled[currency] }))
    return figures.reduce((least, each) => (each.limit - each.settled < least.limit - least.settled ? each : least), {
      limit: Infinity,
      settled: 0,
    })
  }

  /** Reserves the amount; undefined when it does not fit. @throws HaltingError `internal` for an invalid amount. */
  reserve(amount: Amount): Reservation | undefined {
    assertAmount(amount)
    const available = this.available()
    if (amount.nanos > available.nanos || amount.tokens > available.tokens) return undefined
    for (const line of this.#lines) {
      line.reserved = addAmounts(line.reserved, amount)
      line.holders += 1
    }
    const reservation: Reservation = { amount, lines: this.#lines }
    const open = (this.#open ??= new Set())
    open.add(reservation)
    return reservation
  }

  /**
   * Replaces a reservation with the amount that was really spent. `known: false` for an attempt that was aborted or
   * lost: its amount is the worst case. If a service bills more than was reserved, the billed amount is settled: the
   * figures stay correct, and show that the service violated L1. For an invalid amount, the reservation counts as spent.
   */
  settle(reservation: Reservation, spent: Amount, known = true): void {
    if (this.#open?.delete(reservation) !== true) return
    const isKnown = known && isAmount(spent)
    const settled = isAmount(spent) ? spent : reservation.amount
    for (const line of reservation.lines) {
      line.reserved = subtractAmounts(line.reserved, reservation.amount)
      line.holders -= 1
      line.settled = addAmounts(line.settled, settled)
      line.lease?.settle(reservation, settled.nanos)
      if (!isKnown) line.unknown = addAmounts(line.unknown, settled)
    }
    this.queue.retryWaiting()
  }

  /** What the session uses of its lease; undefined without one. */
  get lease(): LeaseLine | undefined {
    return this.#lines.find(({ lease }) => lease !== undefined)?.lease
  }

  /** Adds what was spent before this process began, according to a record. @throws HaltingError `internal` for an invalid amount. */
  restore(spent: Amount, unknown: Amount = zeroAmount): void {
    assertAmount(spent)
    assertAmount(unknown)
    for (const line of this.#ownLines) {
      line.settled = addAmounts(line.settled, spent)
      line.unknown = addAmounts(line.unknown, unknown)
    }
    this.queue.retryWaiting()
  }

  /** Subtracts the spending of a run that another run continues. The other run includes that spending. */
  subtract(spent: Amount, unknown: Amount = zeroAmount): void {
    for (const line of this.#ownLines) {
      line.settled = subtractAmounts(line.settled, spent)
      line.unknown = subtractAmounts(line.unknown, unknown)
    }
    this.queue.retryWaiting()
  }

  /** Replaces the restored worst case of a request with its real amount. `restoreAgent` updates the ledger of the subagent. */
  correctRestored(worst: Amount, spent: Amount, known: boolean): void {
    assertAmount(spent)
    for (const line of this.#ownLines) {
      if (line.isOfAgent) continue
      line.settled = addAmounts(subtractAmounts(line.settled, worst), spent)
      line.unknown = known
        ? subtractAmounts(line.unknown, worst)
        : addAmounts(subtractAmounts(line.unknown, worst), spent)
    }
    this.queue.retryWaiting()
  }

  /** Adds the recorded spending of a subagent to its ledger. The resume has already added it to the ledger of the run. */
  restoreAgent(spent: Amount): void {
    if (!isAmount(spent)) return
    for (const line of this.#lines) if (line.isOfAgent) line.settled = addAmounts(line.settled, spent)
    this.queue.retryWaiting()
  }

  get #ownLines(): readonly Line[] {
    return this.#lines.filter(({ isShared }) => !isShared)
  }

  /** The current settled, reserved and available amounts. */
  figures(): LedgerFigures {
    const line = this.#lines[0]
    const { settled, reserved, unknown } = line ?? { settled: zeroAmount, reserved: zeroAmount, unknown: zeroAmount }
    return { settled, reserved, unknown, available: this.available() }
  }
}

function availableOnLine(lines: readonly Line[]): Amount {
  let nanos = Infinity
  let tokens = Infinity
  for (const { limits, settled, reserved } of lines) {
    nanos = Math.min(nanos, limits.nanos - settled.nanos - reserved.nanos)
    tokens = Math.min(tokens, limits.tokens - settled.tokens - reserved.tokens)
  }
  return { nanos, tokens }
}

function newLine(limits: Partial<LedgerLimits>): Line {
  return {
    isLease: false,
    isShared: false,
    isOfAgent: false,
    settled: zeroAmount,
    reserved: zeroAmount,
    holders: 0,
    unknown: zeroAmount,
    limits: limitsWith(limits),
  }
}

/** Most lines have no limit: they share one object. */
function limitsWith({ nanos = Infinity, tokens = Infinity }: Partial<LedgerLimits>): LedgerLimits {
  return nanos === Infinity && tokens === Infinity ? noLimits : { nanos, tokens }
}

/** Whether both parts are numbers of at least 0. */
function isAmount({ nanos, tokens }: Amount): boolean {
  return nanos >= 0 && tokens >= 0
}

function assertAmount(amount: Amount): void {
  if (isAmount(amount)) return
  throw new HaltingError('internal', `Invalid ledger amount: ${amount.nanos} nano-dollars and ${amount.tokens} tokens.`)
}

export function addAmounts(a: Amount, b: Amount): Amount {
  if (b.nanos === 0 && b.tokens === 0) return a
  return { nanos: a.nanos + b.nanos, tokens: a.tokens + b.tokens }
}

export function subtractAmounts(a: Amount, b: Amount): Amount {
  return { nanos: a.nanos - b.nanos, tokens: a.tokens - b.tokens }
}
