import { randomUUID } from 'node:crypto'
import { HaltingError, type BudgetLease, type LeaseShortage, type LeaseUse, type LeaseWanted } from '@halting/core'
import type { Spent } from '@halting/core/adapters'
import type { ClusterLog } from '../engine/cluster-log.ts'
import type { LeaseDesk } from './lease-desk.ts'
import type { LeaseAnswer, LeaseAsk } from './tenant-money.ts'

/**
 * Additional amount that a session leases while no other session waits, so that not every request has to call the
 * budget. It returns what it does not spend.
 */
const defaultChunkUsd = 0.05
/** How long a session may hold money that it cannot spend now, while no other waits: its next request may follow at once. Shorter than the time until it rests. */
const keepMs = 100
/** Maximum number of calls if another process was taken for the one at work. */
const maxAsks = 20

export interface TenantLeaseOptions {
  readonly desk: LeaseDesk
  readonly session: string
  readonly began: string
  readonly turn: number
  /** The lease was created by the object of the session. */
  readonly isOpened?: true | undefined
  /** The invocation that is notified when there is enough money. Without it, the session does not wait. */
  readonly invocation?: string | undefined
  /** Spending on record that another session paid, because this session is a copy of it. */
  readonly inherited?: Spent
  readonly chunkUsd?: number | undefined
  /** What it has spent according to its records, with open requests at their worst case. */
  readonly committed: Spent
  /** Once its batches are on record, the engine regards this process as the one at work. */
  readonly log: Pick<ClusterLog, 'flush' | 'batches' | 'confirmed' | 'hold'>
  /** Aborted when the engine continues the session elsewhere, or when this process releases it. */
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
 * The share of one session in its tenant's budget, in the process that works at the session. The engine has the lease;
 * this class requests changes. T1: the session never has more money here than in the engine. T2: money is returned only
 * after a record shows that it will not be spent, and after the engine took that record from this process. So a lost
 * process cannot take money from its successor. T3: the session rests only when the budget has answered everything:
 * places in the queue that it takes or leaves, and money that it returns. At a rest the process may release it.
 */
export class TenantLease implements BudgetLease {
  readonly name: string
  /** Waits in the queue of the budget. Absent if nobody could notify the session. */
  readonly wait?: NonNullable<BudgetLease['wait']>
  readonly #options: TenantLeaseOptions
  #process: string = randomUUID()
  #sequence = 0
  /** What the session has leased from the budget. */
  #leasedNanos = 0
  /** The part of the lease that may be spent. It increases only by a request, so that `#use` covers everything that is spent. */
  #spendableNanos = 0
  /** What it uses; undefined if it received money since it last reported. */
  #use: LeaseUse | undefined
  #decreases = 0
  /** Number of answers whose receivers are about to spend. */
  #growing = 0
  #waits: readonly QueuedWait[] = []
  #isJoining = false
  /** Number of batches taken when this process received the lease. */
  #openedAt = 0
  #isReporting = false
  #isReportDue = false
  /** Open calls that leave the queue. */
  #leaving = 0
  #holding: (() => void) | undefined
  #timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined

  /** Opens the lease, with what earlier processes of the session have left. Rejects when it is aborted. */
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

  /** Until the session requests more, its use is that shown by its records. What a lost process had beyond that is returned. */
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
    // The caller spends the answer in this turn of the event loop, so nothing is returned before that.
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

  /** Excludes what another session paid. In whole nano-dollars, rounded up. */
  #ownNanos(usd: number): number {
    // Floating-point sums have an error in their last digits.
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

  /** Takes one place in the queue of the budget for all waiting requests of the session. A message to the session says that there is enough; only a message ends a rest. */
  async #joinQueue(): Promise<void> {
    const { invocation = '', gone } = this.#options
    if (this.#isJoining) return
    this.#isJoining = true
    this.#updateHold()
    let joined: readonly QueuedWait[] = []
    try {
      // Another request may arrive while the answer is awaited.
      while (this.#asleep.some((wait) => !joined.includes(wait))) {
        joined = this.#asleep
        const { kind } = await this.#ask(gone, () => {
          // Some may have left while this process established that it is the one at work.
          const places = this.#asleep
          if (places.length === 0) return undefined
          const nanos = Math.max(...places.map(({ wanted }) => this.#ownNanos(wanted.usd)))
          const leastNanos = Math.min(...places.map(({ wanted }) => this.#ownNanos(wanted.leastUsd)))
          return { kind: 'join', nanos, leastNanos, invocation }
        })
        // The budget does not know the session.
        if (kind === 'gone') this.wakeWaiters()
      }
    } catch {
      // Requests that ask again learn what is wrong.
      if (!gone.aborted) this.wakeWaiters()
    } finally {
      this.#isJoining = false
      this.#giveBackUnused()
      this.#updateHold()
    }
  }

  /** Leaves the queue: its place, and the money granted there, become free. */
  async #leaveQueue(): Promise<void> {
    this.#leaving++
    this.#updateHold()
    try {
      await this.#ask(this.#options.gone, () => (this.#waits.length > 0 ? undefined : { kind: 'leave' }))
    } catch {
      // Either the session is lost here, or its next request reports the error.
    } finally {
      this.#leaving--
      this.#giveBackUnused()
      this.#updateHold()
    }
  }

  /** Prevents a rest while the budget has open requests. */
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

  /** Makes waiting requests call the budget again. */
  wakeWaiters(): void {
    for (const wait of this.#asleep) {
      wait.isAwake = true
      wait.wake()
    }
  }

  uses(use: LeaseUse): void {
    this.#use = use
    // No request is open. The next one may belong to another run of the session, which this use does not cover.
    if (use.usd <= use.settledUsd) this.#spendableNanos = Math.min(this.#spendableNanos, this.#usedNanos(use))
    this.#decreases++
    this.#giveBackSoon()
  }

  /** Called when other sessions of the tenant wait for money. */
  onOthersWaiting(): void {
    // Money granted while it waited stays with the session until it has asked.
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

  /** A resumed run replays its records first. What they show counts as spent all the while, in addition to open requests. */
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
      // Either the session is lost here, or its next request reports the error.
    } finally {
      this.#isReporting = false
      if (this.#isReportDue && this.#growing === 0) this.#schedule()
      this.#updateHold()
    }
  }

  /** Waits until the lower use of the session is on record. */
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
    // If a request is open and no other session waits, a small amount may stay for the next request.
    const chunkNanos = isAsking ? this.#chunkNanos : 0
    const spent = this.#spentNanos(use)
    // From now on nothing beyond this amount is spent, unless the budget grants it again.
    this.#spendableNanos = Math.min(this.#spendableNanos, nanos)
    const { gone } = this.#options
    const answer = this.#onAnswer(await this.#send(gone, { kind: 'report', nanos, spent, chunkNanos }))
    if (answer.kind !== 'superseded' || gone.aborted) return
    await this.#openAgain(gone)
    this.#isReportDue = true
  }

  /** The budget has heard a lost process after this one. Until a record shows that this process is at work, it returns nothing. */
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
   * Asks as the process that works at the session. `ask` returns undefined if there is nothing to ask any more.
   * @throws HaltingError `driver` if another process is repeatedly taken for the one at work.
   */
  async #ask<Ask extends AskFields<LeaseAsk> | undefined>(
    signal: AbortSignal,
    ask: () => Ask,
  ): Promise<LeaseAnswer | (undefined extends Ask ? { readonly kind: 'none' } : never)> {
    for (let asks = 0; asks < maxAsks; asks++) {
      const asked = ask()
      // Its type says whether it can return undefined.
      if (asked === undefined) return { kind: 'none' } as never
      const answer = this.#onAnswer(await this.#send(signal, asked))
      if (answer.kind === 'superseded') await this.#openAgain(signal)
      else if (answer.kind !== 'late') return answer
    }
    throw new HaltingError('driver', 'Another process keeps requesting money for this session.')
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
