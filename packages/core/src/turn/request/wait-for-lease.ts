import { usdOf } from '../../budget/prices.ts'
import type { FundsWanted } from '../../events.ts'
import type { Waited } from '../../steps/steps.ts'
import type { Run } from '../run.ts'
import { estimateRequest } from './estimate.ts'
import type { LeaseShort } from './reserve.ts'
import { tellFigures } from './tell-figures.ts'

// Spec R-FUND-3.
/** So long a request waits for money of a lease while nothing comes back to the budget: 10 minutes. */
export const leaseWaitMs = 600_000

/** A wait for the budget of a lease, as recorded: what is waited for, and how much others have of it. */
export type LeaseWaited = FundsWanted & {
  readonly budget: string
  /** What the request would have of the lease in all, and the least of use. */
  readonly usd: number
  readonly leastUsd: number
}

/** What a request waits for at its lease. */
export function leaseWaited({ needed, usd, leastUsd, others }: LeaseShort, budget: string): LeaseWaited {
  const { reservedUsd, holders } = others
  const wanted = { neededUsd: usdOf(needed.nanos), neededTokens: needed.tokens }
  return { ...wanted, reservedUsd, reservedTokens: 0, holders, budget, usd, leastUsd }
}

/** The figures of such a wait in an event. */
export function figuresOfWait({ usd: _, leastUsd: __, ...figures }: LeaseWaited): FundsWanted & {
  readonly budget: string
} {
  return figures
}

/** The place of one request in the queue of the budget, from its first wait until it has its answer. */
export class LeasePlace {
  #leave: (() => void) | undefined

  /** Takes the place, or keeps it. */
  take(leave: () => void): void {
    const before = this.#leave
    this.#leave = leave
    before?.()
  }

  /** It has its answer, or waits no more. */
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
  /** The time of a question is over. */
  readonly cutOff: AbortSignal | undefined
}

// Spec R-FUND-1, R-FUND-4.
/** Waits until the lease may have enough, or nothing came back for too long. It is a rest: where nothing else goes on, the process may let go of the session. */
export async function waitForLease(
  run: Run,
  { key, wanted, place, cutOff }: LeaseWaiting,
): Promise<Pick<Waited<never>, 'outcome' | 'waitedMs'>> {
  const { steps, abort, deadline } = run.ports
  const { lease } = run.context.settings
  const leftMs = Math.max(1, deadline.limitMs - deadline.usedMs)
  let hasBegun = false
  const report = (isWaiting: boolean): void => {
    if (!run.ports.isHeard()) return
    run.emit({ type: 'budget_wait', isWaiting, ...figuresOfWait(wanted) })
    tellFigures(run, run.emit, estimateRequest(run))
  }
  const waited = await steps.wait<never>(key, {
    signal: abort.signal,
    longestMs: Math.min(leaseWaitMs, leftMs),
    onBegin: () => {
      hasBegun = true
      report(true)
    },
    wakeOn(wake) {
      const { usd, leastUsd } = wanted
      const leave = lease?.wait?.({ usd, leastUsd }, () => wake('more'))
      if (leave !== undefined) place.take(leave)
      const onCut = (): void => wake('cut_off')
      cutOff?.addEventListener('abort', onCut, { once: true })
      if (cutOff?.aborted === true) onCut()
      return () => cutOff?.removeEventListener('abort', onCut)
    },
  })
  if (hasBegun) report(false)
  // The time of the run may be over, too.
  abort.causeNow()
  return waited
}
