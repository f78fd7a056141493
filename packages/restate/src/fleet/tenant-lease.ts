import { randomUUID } from 'node:crypto'
import { HaltingError, type BudgetLease, type LeaseShortage, type LeaseUse, type LeaseWanted } from '@halting/core'
import type { Spent } from '@halting/core/adapters'
import type { ClusterLog } from '../engine/cluster-log.ts'
import type { LeaseDesk } from './lease-desk.ts'
import type { LeaseAnswer, LeaseAsk } from './tenant-money.ts'

/** So much more than it needs a session takes at once, so that not every request has to ask, where nobody waits for it. What it does not spend goes back. */
const defaultChunkUsd = 0.05
/** So long a session may keep what it may not spend at this moment, where nobody waits for it: a next request may follow at once. Less than until it rests. */
const keepMs = 100
/** Another process may have been taken for the one that works at the session, and this one asks again, so often. */
const mostAsks = 20

export interface TenantLeaseOptions {
  readonly desk: LeaseDesk
  readonly session: string
  readonly began: string
  readonly turn: number
  /** The lease was made by the object of the session. */
  readonly isOpened?: true | undefined
  /** The work that is told when there is enough. Without it, the session does not wait. */
  readonly invocation?: string | undefined
  /** What the session has on record that another one paid: it is a copy of that. */
  readonly inherited?: Spent
  readonly chunkUsd?: number | undefined
  /** What it has spent by its records, with requests that were under way at their worst case. */
  readonly committed: Spent
  /** By what is on record, the engine takes this process for the one that works at the session. */
  readonly log: Pick<ClusterLog, 'flush' | 'batches' | 'confirmed' | 'hold'>
  /** Aborted when the engine goes on with the session elsewhere, or this process lets go of it. */
  readonly gone: AbortSignal
}

interface QueuedWait {
  readonly wanted: LeaseWanted
  readonly wake: () => void
  isAwake: boolean
}

type AskFields<Ask> = Ask extends LeaseAsk
  ? Omit<Ask, 'session' | 'began' | 'turn' | 'process' | 'sequence' | 'isOpened'>
  : never

/**
 * The share of one session in the budget of its tenant, in the process that works at it. What it has is with the engine: this asks.
 * T1: what the session has here is never more than what it has there. T2: something is given back only when a record shows that it will not be spent, and the engine has
 * taken that record since this process asked for the lease: no process that was lost takes money from the one that goes on. T3: the session rests only when the budget has
 * answered all that was to be asked for it: a place in the queue that it takes, or leaves, and what it gives back. At a rest its process may let go of it.
 */
export class TenantLease implements BudgetLease {
  readonly name: string
  /** Waits in the queue of the budget. Absent where nobody could tell the session. */
  readonly wait?: NonNullable<BudgetLease['wait']>
  readonly #options: TenantLeaseOptions
  #process: string = randomUUID()
  #sequence = 0
  /** What the session has with the budget. */
  #leasedNanos = 0
  /** What of that it may spend: more only by what it asks for, so that nothing is spent of which `#use` does not know. */
  #spendableNanos = 0
  /** What it uses; undefined where it was given something since it told. */
  #use: LeaseUse | undefined
  #decreases = 0
  /** Answers that somebody is about to spend by. */
  #growing = 0
  #waits: readonly QueuedWait[] = []
  #isJoining = false
  /** Batches that were taken when this process was given the lease. */
  #openedAt = 0
  #isReporting = false
  #isReportDue = false
  /** Calls under way by which it leaves the queue. */
  #leaving = 0
  #holding: (() => void) | undefined
  #timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined

  /** With what the session has of earlier processes. Rejects when it is aborted. */
  static async open(options: TenantLeaseOptions): Promise<TenantLease> {
    const lease = new TenantLease(options)
    await lease.#open(options.gone)
    lease.#beginFromRecord(options.committed)
    options.desk.add(lease)
    options.gone.addEventListener('abort', () => lease.#end(), { once: true })
    if (options.gone.aborted) lease.#end()
    return lease
  }

  private constructor(options: TenantLeaseOptions) {
    this.name = `the budget of ${options.desk.tenant}`
    this.#options = options
    if (options.invocation !== undefined) this.wait = (wanted, wake) => this.#wait(wanted, wake)
  }

  /** Until it asks for more, it uses what its records say: what a process that was lost had beyond that is given back. */
  #beginFromRecord({ nanos, unknownNanos }: Spent): void {
    const [usd, unknownUsd] = [nanos / 1e9, unknownNanos / 1e9]
    this.#use = { usd, settledUsd: usd, unknownUsd }
    this.#spendableNanos = Math.min(this.#leasedNanos, this.#ownNanos(usd))
    this.#giveBackUnused()
  }

  get usd(): number {
    return (this.#spendableNanos + this.#inherited.nanos) / 1e9
  }

  get #inherited(): Spent {
    return this.#options.inherited ?? { nanos: 0, unknownNanos: 0 }
  }

  async growTo(
    usd: number,
    { signal, leastUsd, isOver }: Parameters<BudgetLease['growTo']>[1],
  ): Promise<LeaseShortage | void> {
    this.#growing++
    // Whoever is answered spends it in this turn of the event loop: nothing is given back before.
    const onAnswered = (): void => void setImmediate(() => this.#onGrown())
    try {
      const answer = await this.#ask(signal, () => ({
        kind: 'raise',
        nanos: this.#ownNanos(usd),
        ...(leastUsd !== undefined && { leastNanos: this.#ownNanos(leastUsd) }),
        ...(isOver === true && { isOver }),
        chunkNanos: this.#chunkNanos,
      }))
      if (answer.kind === 'has') {
        this.#spendableNanos = this.#leasedNanos
        this.#use = undefined
        return undefined
      }
      return { mayComeBack: answer.kind === 'short', reservedUsd: answer.reservedNanos / 1e9, holders: answer.holders }
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    } finally {
      onAnswered()
    }
  }

  #onGrown(): void {
    this.#growing--
    if (this.#isReportDue) this.#schedule()
  }

  /** Without what another session paid, in whole nano-dollars, rounded up. */
  #ownNanos(usd: number): number {
    // An exact sum has an error in its last digits.
    return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(usd * 1e9 - 1e-3)) - this.#inherited.nanos)
  }

  get #chunkNanos(): number {
    return Math.ceil((this.#options.chunkUsd ?? defaultChunkUsd) * 1e9)
  }

  #wait(wanted: LeaseWanted, wake: () => void): () => void {
    const wait: QueuedWait = { wanted, wake, isAwake: false }
    this.#waits = [...this.#waits, wait]
    void this.#joinQueue()
    return () => {
      this.#waits = this.#waits.filter((each) => each !== wait)
      if (this.#waits.length === 0) void this.#leaveQueue()
    }
  }

  get #asleep(): readonly QueuedWait[] {
    return this.#waits.filter(({ isAwake }) => !isAwake)
  }

  /** Takes a place in the queue of the budget for all requests of the session that wait. That there is enough comes as a message to the session: only that ends a rest. */
  async #joinQueue(): Promise<void> {
    const { invocation = '', gone } = this.#options
    if (this.#isJoining) return
    this.#isJoining = true
    this.#updateHold()
    let joined: readonly QueuedWait[] = []
    try {
      // Another one may come while the answer is awaited.
      while (this.#asleep.some((wait) => !joined.includes(wait))) {
        joined = this.#asleep
        const { kind } = await this.#ask(gone, () => {
          // Some may have left while a lost process was told from this one.
          const places = this.#asleep
          if (places.length === 0) return undefined
          const nanos = Math.max(...places.map(({ wanted }) => this.#ownNanos(wanted.usd)))
          const leastNanos = Math.min(...places.map(({ wanted }) => this.#ownNanos(wanted.leastUsd)))
          return { kind: 'join', nanos, leastNanos, invocation }
        })
        // The budget knows nothing of it.
        if (kind === 'gone') this.wakeWaiters()
      }
    } catch {
      // Who asks again hears what is wrong.
      if (!gone.aborted) this.wakeWaiters()
    } finally {
      this.#isJoining = false
      this.#giveBackUnused()
      this.#updateHold()
    }
  }

  /** It waits no more: a place of it, and what it was given there, are free. */
  async #leaveQueue(): Promise<void> {
    this.#leaving++
    this.#updateHold()
    try {
      await this.#ask(this.#options.gone, () => (this.#waits.length > 0 ? undefined : { kind: 'leave' }))
    } catch {
      // The session is lost here, or its next request hears of it.
    } finally {
      this.#leaving--
      this.#giveBackUnused()
      this.#updateHold()
    }
  }

  /** What the budget has yet to be asked keeps the session from its rest. */
  #updateHold(): void {
    const { gone, log } = this.#options
    const isBusy = this.#isReportDue || this.#isReporting || this.#isJoining || this.#leaving > 0
    if (isBusy && !gone.aborted) {
      this.#holding ??= log.hold()
      return
    }
    this.#holding?.()
    this.#holding = undefined
  }

  /** Those who wait ask again. */
  wakeWaiters(): void {
    for (const wait of this.#asleep) {
      wait.isAwake = true
      wait.wake()
    }
  }

  uses(use: LeaseUse): void {
    this.#use = use
    // Nothing is under way. Another run of the session may be next, of which this use tells nothing.
    if (use.usd <= use.settledUsd) this.#spendableNanos = Math.min(this.#spendableNanos, this.#usedNanos(use))
    this.#decreases++
    this.#giveBackSoon()
  }

  /** Others of the tenant wait for money. */
  onOthersWaiting(): void {
    // What it was given while it waited stays its own until it has asked.
    if (this.#waits.length === 0) this.#giveBackUnused()
  }

  #giveBackUnused(): void {
    if (this.#use !== undefined && this.#leasedNanos > this.#usedNanos(this.#use)) this.#giveBackSoon()
  }

  #giveBackSoon(): void {
    this.#isReportDue = true
    this.#updateHold()
    if (this.#growing === 0) this.#schedule()
  }

  get #isWaitedFor(): boolean {
    return this.#options.desk.waiting > (this.#waits.length > 0 ? 1 : 0)
  }

  #schedule(): void {
    if (this.#isReporting || this.#options.gone.aborted) return
    const ms = this.#isWaitedFor ? 0 : keepMs
    const at = performance.now() + ms
    if (this.#timer !== undefined && this.#timer.at <= at) return
    clearTimeout(this.#timer?.handle)
    const handle = setTimeout(() => {
      this.#timer = undefined
      void this.#report()
    }, ms).unref()
    this.#timer = { at, handle }
  }

  /** A run that is taken up reads its record first: what that shows is spent all the while, beside what is under way. */
  #usedNanos({ usd, settledUsd }: LeaseUse): number {
    const settled = this.#ownNanos(settledUsd)
    const onRecord = this.#ownNanos(this.#options.committed.nanos / 1e9)
    return Math.max(settled, onRecord) + Math.max(0, this.#ownNanos(usd) - settled)
  }

  #spentNanos({ settledUsd, unknownUsd }: LeaseUse): Spent {
    const { committed } = this.#options
    const nanos = this.#ownNanos(settledUsd)
    const onRecord = this.#ownNanos(committed.nanos / 1e9)
    const unknownNanos = nanos < onRecord ? committed.unknownNanos : Math.round(unknownUsd * 1e9)
    return {
      nanos: Math.max(nanos, onRecord),
      unknownNanos: Math.max(0, unknownNanos - this.#inherited.unknownNanos),
    }
  }

  async #report(): Promise<void> {
    if (this.#isReporting) return
    this.#isReporting = true
    this.#isReportDue = false
    try {
      await this.#whenOnRecord()
      if (!this.#options.gone.aborted) await this.#reportNow()
    } catch {
      // The session is lost here, or its next request hears of it.
    } finally {
      this.#isReporting = false
      if (this.#isReportDue && this.#growing === 0) this.#schedule()
      this.#updateHold()
    }
  }

  /** What the session has used less of is on record. */
  async #whenOnRecord(): Promise<void> {
    const { log } = this.#options
    await log.confirmed(this.#openedAt)
    for (let falls = -1; falls !== this.#decreases;) {
      falls = this.#decreases
      await log.flush()
    }
  }

  async #reportNow(): Promise<void> {
    const use = this.#use
    if (use === undefined || this.#growing > 0) {
      this.#isReportDue = use !== undefined
      return
    }
    const nanos = this.#usedNanos(use)
    const isAsking = use.usd > use.settledUsd
    // A request is under way, and nobody waits: it may keep a little for the next one.
    const chunkNanos = isAsking ? this.#chunkNanos : 0
    const spent = this.#spentNanos(use)
    // Nothing beyond it is spent from here on, unless the budget gives it anew.
    this.#spendableNanos = Math.min(this.#spendableNanos, nanos)
    const { gone } = this.#options
    const answer = this.#onAnswer(await this.#send(gone, { kind: 'report', nanos, spent, chunkNanos }))
    if (answer.kind !== 'superseded' || gone.aborted) return
    await this.#openAgain(gone)
    this.#isReportDue = true
  }

  /** A process that was lost was heard after this one. Until a record shows that this one works at the session, it gives back nothing. */
  async #openAgain(signal: AbortSignal): Promise<void> {
    this.#process = randomUUID()
    await this.#open(signal)
  }

  async #open(signal: AbortSignal): Promise<LeaseAnswer> {
    const answer = this.#onAnswer(await this.#send(signal, { kind: 'open' }))
    this.#openedAt = this.#options.log.batches
    return answer
  }

  /**
   * Asks, as the process that works at the session. `ask` gives undefined where there is nothing to ask any more.
   * @throws HaltingError `driver` where another one is taken for that, again and again.
   */
  async #ask<Ask extends AskFields<LeaseAsk> | undefined>(
    signal: AbortSignal,
    ask: () => Ask,
  ): Promise<LeaseAnswer | (undefined extends Ask ? { readonly kind: 'none' } : never)> {
    for (let asks = 0; asks < mostAsks; asks++) {
      const asked = ask()
      // Where it gives undefined, its type says so.
      if (asked === undefined) return { kind: 'none' } as never
      const answer = this.#onAnswer(await this.#send(signal, asked))
      if (answer.kind === 'superseded') await this.#openAgain(signal)
      else if (answer.kind !== 'late') return answer
    }
    throw new HaltingError('driver', 'Another process asks for the money of this session.')
  }

  #send(signal: AbortSignal, ask: AskFields<LeaseAsk>): Promise<LeaseAnswer> {
    const { desk, session, began, turn, isOpened } = this.#options
    const sequence = ++this.#sequence
    const identity = { session, began, turn, process: this.#process, sequence, ...(isOpened && { isOpened }) }
    return desk.ask({ ...identity, ...ask }, signal)
  }

  #onAnswer(answer: LeaseAnswer): LeaseAnswer {
    if (answer.kind !== 'superseded' && answer.kind !== 'gone') this.#leasedNanos = answer.nanos
    this.#spendableNanos = Math.min(this.#spendableNanos, this.#leasedNanos)
    return answer
  }

  #end(): void {
    clearTimeout(this.#timer?.handle)
    this.#timer = undefined
    this.#options.desk.remove(this)
    this.#updateHold()
  }
}
