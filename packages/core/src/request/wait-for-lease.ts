import { usdOf } from '../model/prices.ts'
import type { FundsWanted } from '../state/events.ts'
import type { Run } from '../run/run.ts'
import { estimateRequest } from './estimate.ts'
import type { LeaseShort } from './reserve.ts'
import { emitFigures } from './emit-figures.ts'

// Spec R-FUND-3.
/** How long a request waits for money of a lease while no reservation is returned to the budget: 10 minutes. */
export const leaseWaitMs = 600_000
/** Requests again after this time in any case, so that a lost notification does not block a session forever. */
const askAgainMs = 60_000

/** A wait for the budget of a lease, as recorded: what it waits for, and what others use of it. */
export type LeaseWaited = FundsWanted & {
  readonly budget: string
  /** The total that the request wants from the lease, and the least useful total. */
  readonly usd: number
  readonly leastUsd: number
}

/** What a request waits for at its lease. */
export function leaseWaited({ needed, usd, leastUsd, others }: LeaseShort, budget: string): LeaseWaited {
  const { reservedUsd, holders } = others
  const neededFigures = { neededUsd: usdOf(needed.nanos), neededTokens: needed.tokens }
  return { ...neededFigures, reservedUsd, reservedTokens: 0, holders, budget, usd, leastUsd }
}

/** The figures of such a wait in an event. */
export function figuresOfWait({ usd: _, leastUsd: __, ...figures }: LeaseWaited): FundsWanted & {
  readonly budget: string
} {
  return figures
}

/** The position of one request in the queue of the budget, from its first wait until it has an answer. */
export class LeasePlace {
  #leave: (() => void) | undefined

  /** Occupies the position, or retains the current one. */
  take(leave: () => void): void {
    const before = this.#leave
    this.#leave = leave
    before?.()
  }

  /** Leaves the queue, because the request has its answer or no longer waits. */
  leave(): void {
    this.#leave?.()
    this.#leave = undefined
  }
}

interface LeaseWaiting {
  /** The key of the step. */
  readonly key: string
  readonly wanted: LeaseWaited
  readonly place: LeasePlace
}

interface LeaseWaitEnd {
  readonly outcome: 'woken' | 'over' | 'aborted'
  /** Milliseconds by the wall clock. */
  readonly waitedMs: number
}

// Spec R-FUND-1, R-FUND-4.
/**
 * Waits until the lease may have enough, or until the request should be repeated. This is an idle wait: if nothing else
 * is running, the process may unload the session.
 */
export async function waitForLease(run: Run, { key, wanted: wait, place }: LeaseWaiting): Promise<LeaseWaitEnd> {
  const { steps, abort, deadline } = run.ports
  const leftMs = Math.max(1, deadline.limitMs - deadline.usedMs)
  let hasBegun = false
  const waited = await steps.wait<never>(key, {
    signal: abort.signal,
    longestMs: Math.min(askAgainMs, leftMs),
    onBegin() {
      hasBegun = true
      report(run, wait, true)
    },
    wakeOn(wake) {
      join(run, wait, place, () => wake('more'))
      return () => {}
    },
  })
  if (hasBegun) report(run, wait, false)
  // The run's time limit may also be reached.
  abort.causeNow()
  const { outcome, waitedMs } = waited
  return { outcome: outcome === 'answered' ? 'woken' : outcome, waitedMs }
}

/** Works like `waitForLease`, for a question that may time out first. Not an idle wait, because the timer of the question exists only in this process. */
export function waitInProcess(
  run: Run,
  { wanted: wait, place, cutOff }: Omit<LeaseWaiting, 'key'> & { readonly cutOff: AbortSignal },
): Promise<LeaseWaitEnd> {
  const { abort } = run.ports
  const { timers } = run.context
  const since = timers.now()
  return new Promise((resolve) => {
    let isOver = false
    let cancel = (): void => {}
    const end = (outcome: LeaseWaitEnd['outcome']): void => {
      if (isOver) return
      isOver = true
      cancel()
      abort.unlisten(listener)
      cutOff.removeEventListener('abort', onCut)
      report(run, wait, false)
      resolve({ outcome, waitedMs: timers.now() - since })
    }
    const listener = { onAbort: () => end('aborted') }
    const onCut = (): void => end('woken')
    report(run, wait, true)
    abort.listen(listener)
    cutOff.addEventListener('abort', onCut, { once: true })
    cancel = timers.after(askAgainMs, () => end('over'))
    join(run, wait, place, () => end('woken'))
    if (abort.causeNow() !== undefined) end('aborted')
    else if (cutOff.aborted) onCut()
  })
}

function join(run: Run, { usd, leastUsd }: LeaseWaited, place: LeasePlace, wake: () => void): void {
  const leave = run.context.settings.lease?.wait?.({ usd, leastUsd }, wake)
  if (leave !== undefined) place.take(leave)
}

function report(run: Run, wait: LeaseWaited, isWaiting: boolean): void {
  if (!run.ports.hasListener()) return
  run.emit({ type: 'budget_wait', isWaiting, ...figuresOfWait(wait) })
  emitFigures(run, run.emit, estimateRequest(run))
}
