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

export const nothing: Amount = Object.freeze({ nanos: 0, tokens: 0 })

/** Where a ledger is made. */
interface LedgerPlace {
  /** Every request is measured, whether a limit stands on the ledger or not. */
  readonly isMeasured?: boolean
  /** The ledger above it. */
  readonly above?: Ledger | undefined
}

/** What may be spent in all. */
export interface LedgerLimits {
  /** Infinity when there is no dollar budget. */
  readonly nanos: NanoUsd
  /** Infinity when there is no token budget. */
  readonly tokens: number
}

const noLimits: LedgerLimits = Object.freeze({ nanos: Infinity, tokens: Infinity })

/** What stands on a ledger at this moment. */
export interface LedgerFigures {
  /** What finished requests came to. */
  readonly settled: Amount
  /** What requests under way may cost at most. */
  readonly reserved: Amount
  /** Settled at worst case because the service did not say: part of `settled`. */
  readonly unknown: Amount
  /** What can still be reserved. */
  readonly available: Amount
}

/** Room that a request must leave, by the tokens of its reply. */
export type Room = (outputTokens: number) => Amount

/** Room on the ledger of whoever will need it: limits of an agent's own have no part in it. */
export interface HeldBack {
  readonly ledger: Ledger
  readonly room: Room
}

/** What was taken aside, until it is settled. */
export type Reservation = {
  /** How much is reserved. */
  readonly amount: Amount
  /** The ledgers that it is reserved in, the innermost first. */
  readonly lines: readonly Line[]
}

/** One limit, and what counts against it. A ledger has its own line and those of all ledgers above it. */
export interface Line {
  /** Of a budget that is shared with other sessions: it may grow when it is asked to. */
  readonly isLease: boolean
  /** Its lease, where it is of one. */
  lease?: LeaseLine
  /** Of a budget of several runs of this process: what a record tells of earlier processes is no part of it. */
  readonly isShared: boolean
  /** Of an agent: a resume puts what its record tells there as it is read. */
  readonly isOfAgent: boolean
  settled: Amount
  reserved: Amount
  /** Open reservations. */
  holders: number
  unknown: Amount
  limits: LedgerLimits
}

// Spec R-BUD-1, R-BUD-6.
/**
 * What may be spent, and what is. A subagent's ledger is a branch: what it reserves, its parent reserves too.
 * L1: settled + reserved never exceeds a limit, in the branch or above it, unless that was lowered since. L2: a reservation is settled once. L3: nothing is ever negative.
 */
export class Ledger {
  /** Requests that wait for reservations to be settled: one queue for the whole tree. */
  readonly queue: FundsQueue<Line>
  /** Every request is measured before it is made, whether a limit stands here or not: what is kept elsewhere asks for it. */
  readonly #isMeasured: boolean
  readonly #lines: readonly Line[]
  #open: Set<Reservation> | undefined

  private constructor(lines: readonly Line[], isMeasured: boolean, queue = new FundsQueue<Line>()) {
    this.#lines = lines
    this.#isMeasured = isMeasured
    this.queue = queue
  }

  /** A ledger with these limits; a limit that is left out is Infinity. */
  static create(
    limits: Partial<LedgerLimits> = {},
    {
      isMeasured = false,
      isShared = false,
      above,
    }: LedgerPlace & {
      /** Whether the ledger is that of a budget of several runs. Default: false. */
      readonly isShared?: boolean
    } = {},
  ): Ledger {
    return new Ledger(
      [{ ...newLine(limits), isShared }, ...(above === undefined ? [] : above.#lines)],
      isMeasured,
      above?.queue,
    )
  }

  /** A ledger under a lease: its limit is what the lease gives at the time. */
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

  /** A branch of its own; `limits` may only narrow. */
  branch(limits: Partial<LedgerLimits> = {}): Ledger {
    return new Ledger([newLine(limits), ...this.#lines], this.#isMeasured, this.queue)
  }

  /** The same for a subagent, with limits of its own. */
  branchOfAgent(limits: Partial<LedgerLimits> = {}): Ledger {
    return new Ledger([{ ...newLine(limits), isOfAgent: true }, ...this.#lines], this.#isMeasured, this.queue)
  }

  /** Of this ledger itself; those above it may be narrower. */
  get limits(): LedgerLimits {
    return this.#lines[0]?.limits ?? noLimits
  }

  /** Other limits of this ledger itself; those above it stay. What was spent stays spent, also above a limit that is lowered. */
  setLimits({ nanos = Infinity, tokens = Infinity }: Partial<LedgerLimits>): void {
    const own = this.#lines[0]
    if (own !== undefined) own.limits = limitsWith({ nanos, tokens })
    this.queue.serve()
  }

  /** True when some limit is finite, or what is kept elsewhere asks: only then does anyone need to know the worst case. */
  get limited(): boolean {
    return this.#isMeasured || this.isBounded
  }

  /** True when some limit on this ledger is finite. */
  get isBounded(): boolean {
    for (const { limits } of this.#lines) if (limits.nanos !== Infinity || limits.tokens !== Infinity) return true
    return false
  }

  /** What could still be reserved. */
  available(): Amount {
    return availableOn(this.#lines)
  }

  /** What could be reserved if its lease had no end. */
  availableBesideLease(): Amount {
    return availableOn(this.#lines.filter(({ isLease }) => !isLease))
  }

  /** What could be reserved if the budget that it shares with other runs had no end. */
  availableBesideShared(): Amount {
    return availableOn(this.#lines.filter(({ isShared }) => !isShared))
  }

  /** What could be reserved if all that is reserved were given back. */
  unspent(): Amount {
    return {
      nanos: Math.min(...this.#lines.map(({ limits, settled }) => limits.nanos - settled.nanos)),
      tokens: Math.min(...this.#lines.map(({ limits, settled }) => limits.tokens - settled.tokens)),
    }
  }

  /** The lines that have too little for the amount now. */
  linesShortOf({ nanos, tokens }: Amount): readonly Line[] {
    return this.#lines.filter((line) => {
      const available = availableOn([line])
      return nanos > available.nanos || tokens > available.tokens
    })
  }

  /** The lines of the ledger that are in the set. */
  linesIn(set: ReadonlySet<Line>): readonly Line[] {
    return set.size === 0 ? [] : this.#lines.filter((line) => set.has(line))
  }

  /** The limit with the least left when all that is reserved has come back, and what is settled against it. */
  narrowest(currency: keyof Amount): {
    /** The limit, in US dollars or tokens. */
    readonly limit: number
    /** What is settled of it. */
    readonly settled: number
  } {
    const figures = this.#lines.map(({ limits, settled }) => ({ limit: limits[currency], settled: settled[currency] }))
    return figures.reduce((least, each) => (each.limit - each.settled < least.limit - least.settled ? each : least), {
      limit: Infinity,
      settled: 0,
    })
  }

  /** Takes the amount aside, or undefined when it does not fit. @throws HaltingError `internal` for what is no amount. */
  reserve(amount: Amount): Reservation | undefined {
    expectAmount(amount)
    const available = this.available()
    if (amount.nanos > available.nanos || amount.tokens > available.tokens) return undefined
    for (const line of this.#lines) {
      line.reserved = plus(line.reserved, amount)
      line.holders += 1
    }
    const reservation: Reservation = { amount, lines: this.#lines }
    const open = (this.#open ??= new Set())
    open.add(reservation)
    return reservation
  }

  /**
   * Puts what was really spent in place of what was reserved. `known: false` for an attempt that was aborted or lost: its amount is the worst case.
   * What a service bills above the reservation is still settled as billed: the figures tell the truth, and L1 then tells who broke it.
   * What is no amount is not known either: then the reservation is what was spent.
   */
  settle(reservation: Reservation, spent: Amount, known = true): void {
    if (this.#open?.delete(reservation) !== true) return
    const isKnown = known && isAmount(spent)
    const settled = isAmount(spent) ? spent : reservation.amount
    for (const line of reservation.lines) {
      line.reserved = minus(line.reserved, reservation.amount)
      line.holders -= 1
      line.settled = plus(line.settled, settled)
      line.lease?.settle(reservation, settled.nanos)
      if (!isKnown) line.unknown = plus(line.unknown, settled)
    }
    this.queue.serve()
  }

  /** What its session uses of a lease; undefined without one. */
  get lease(): LeaseLine | undefined {
    return this.#lines.find(({ lease }) => lease !== undefined)?.lease
  }

  /** Puts on the ledger what a record says was spent before this process began. @throws HaltingError `internal` for what is no amount. */
  restore(spent: Amount, unknown: Amount = nothing): void {
    expectAmount(spent)
    expectAmount(unknown)
    for (const line of this.#ownLines) {
      line.settled = plus(line.settled, spent)
      line.unknown = plus(line.unknown, unknown)
    }
    this.queue.serve()
  }

  /** What a run has spent that another one goes on from: it counts again with that one, which carries it. */
  takeBack(spent: Amount, unknown: Amount = nothing): void {
    for (const line of this.#ownLines) {
      line.settled = minus(line.settled, spent)
      line.unknown = minus(line.unknown, unknown)
    }
    this.queue.serve()
  }

  /** What a request really came to, in place of the worst case that was restored for it. Its agent is told by `restoreAgent`. */
  correctRestored(worst: Amount, spent: Amount, known: boolean): void {
    expectAmount(spent)
    for (const line of this.#ownLines) {
      if (line.isOfAgent) continue
      line.settled = plus(minus(line.settled, worst), spent)
      line.unknown = known ? minus(line.unknown, worst) : plus(minus(line.unknown, worst), spent)
    }
    this.queue.serve()
  }

  /** What the record of an agent tells that it spent: it is on the ledger of the run since the resume, and not on that of the agent. */
  restoreAgent(spent: Amount): void {
    if (!isAmount(spent)) return
    for (const line of this.#lines) if (line.isOfAgent) line.settled = plus(line.settled, spent)
    this.queue.serve()
  }

  get #ownLines(): readonly Line[] {
    return this.#lines.filter(({ isShared }) => !isShared)
  }

  /** What is settled, reserved and available at this moment. */
  figures(): LedgerFigures {
    const line = this.#lines[0]
    const { settled, reserved, unknown } = line ?? { settled: nothing, reserved: nothing, unknown: nothing }
    return { settled, reserved, unknown, available: this.available() }
  }
}

function availableOn(lines: readonly Line[]): Amount {
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
    settled: nothing,
    reserved: nothing,
    holders: 0,
    unknown: nothing,
    limits: limitsWith(limits),
  }
}

/** Most lines have no limit: they share one object. */
function limitsWith({ nanos = Infinity, tokens = Infinity }: Partial<LedgerLimits>): LedgerLimits {
  return nanos === Infinity && tokens === Infinity ? noLimits : { nanos, tokens }
}

/** Both parts are numbers of at least 0. */
function isAmount({ nanos, tokens }: Amount): boolean {
  return nanos >= 0 && tokens >= 0
}

function expectAmount(amount: Amount): void {
  if (isAmount(amount)) return
  throw new HaltingError('internal', `The ledger was given ${amount.nanos} nano-dollars and ${amount.tokens} tokens.`)
}

export function plus(a: Amount, b: Amount): Amount {
  if (b.nanos === 0 && b.tokens === 0) return a
  return { nanos: a.nanos + b.nanos, tokens: a.tokens + b.tokens }
}

export function minus(a: Amount, b: Amount): Amount {
  return { nanos: a.nanos - b.nanos, tokens: a.tokens - b.tokens }
}
