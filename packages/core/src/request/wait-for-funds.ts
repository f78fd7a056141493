import type { Ledger } from '../limits/ledger.ts'
import type { AbortCause } from '../values/abort.ts'
import { usdOf } from '../model/prices.ts'
import type { Emit, FundsWanted } from '../state/events.ts'
import type { Run } from '../run/run.ts'
import { estimateRequest } from './estimate.ts'
import type { RequestBounds } from './grant.ts'
import { refusedShortage, reserveRequest, type Reserved, type Shortage } from './reserve.ts'
import { tellFigures } from './tell-figures.ts'

/** The outcome of a wait, as recorded. */
export type FundsWait = FundsWanted &
  (
    | { readonly outcome: 'granted' | 'refused' }
    | {
        readonly outcome: 'aborted'
        readonly cause: AbortCause
      }
  )

/** The outcome of a wait in this process, with its reservation. */
export interface Waited {
  readonly record: FundsWait
  readonly reserved?: Reserved
}

type Waiting = RequestBounds & { readonly cutOff?: AbortSignal }

// Spec R-BUD-18.
/**
 * Waits until the request has what it would get if all open reservations were returned. Also ends when they have been
 * returned and it is still too little. The wait ends when reservations are settled, by an abort (which includes a time
 * limit), or by the cut-off of a question.
 */
export async function waitForFunds(run: Run, bounds: Waiting, first: Shortage, emit: Emit): Promise<Waited> {
  const wanted = wantedBy(first)
  const report = (isWaiting: boolean): void => {
    if (!run.ports.isHeard()) return
    emit({ type: 'budget_wait', isWaiting, ...wanted })
    tellFigures(run, emit, estimateRequest(run))
  }
  const waited = queued(run, bounds, first)
  report(true)
  const came = await waited
  report(false)
  if (came.kind === 'aborted') return { record: { outcome: 'aborted', cause: came.cause, ...wanted } }
  return { record: { outcome: came.grant.granted ? 'granted' : 'refused', ...wanted }, reserved: came }
}

type Came = Reserved | { readonly kind: 'aborted'; readonly cause: AbortCause }

/** Joins the queue and waits for the answer there. */
function queued(run: Run, bounds: Waiting, first: Shortage): Promise<Came> {
  const { abort, ledger, wholeLedger } = run.ports
  const { cutOff } = bounds
  return new Promise((resolve, reject) => {
    let short = first
    let leave = (): void => {}
    const settled = (): void => {
      abort.unlisten(listener)
      cutOff?.removeEventListener('abort', onCut)
    }
    /** Leaves the queue. */
    const end = (came: Came): void => {
      settled()
      leave()
      resolve(came)
    }
    const listener = { onAbort: (cause: AbortCause) => end({ kind: 'aborted', cause }) }
    const onCut = (): void => end(refusedShortage(short))
    const cause = abort.causeNow()
    if (cause !== undefined) return listener.onAbort(cause)
    if (cutOff?.aborted === true) return onCut()
    const retry: Parameters<Ledger['queue']['join']>[1] = (ahead) => {
      try {
        const came = reserveRequest(run, bounds, ahead)
        if (came.kind === 'short') {
          short = came
          return { kind: 'waits', shortOn: came.shortOn }
        }
        resolve(came)
      } catch (error) {
        // Failing prices end this run, not the one whose request was settled.
        reject(error)
      }
      settled()
      return { kind: 'answered' }
    }
    leave = ledger.queue.join(first.shortOn, retry, wholeLedger)
    abort.listen(listener)
    cutOff?.addEventListener('abort', onCut, { once: true })
  })
}

function wantedBy({ needed, reservedBy }: Shortage): FundsWanted {
  return {
    neededUsd: usdOf(needed.nanos),
    neededTokens: needed.tokens,
    reservedUsd: usdOf(reservedBy.nanos),
    reservedTokens: reservedBy.tokens,
    holders: reservedBy.holders,
  }
}
