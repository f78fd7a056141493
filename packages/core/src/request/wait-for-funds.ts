import type { Ledger } from '../limits/ledger.ts'
import type { AbortCause } from '../values/abort.ts'
import { usdOf } from '../model/prices.ts'
import type { Emit, FundsWanted } from '../state/events.ts'
import type { Run } from '../run/run.ts'
import { estimateRequest } from './estimate.ts'
import type { RequestBounds } from './grant.ts'
import { refusedShortage, reserveRequest, type ReservedGrant, type Shortage } from './reserve.ts'
import { emitFigures } from './emit-figures.ts'

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
export interface FundsWaitResult {
  readonly record: FundsWait
  readonly reserved?: ReservedGrant
}

type Waiting = RequestBounds & { readonly cutOff?: AbortSignal }

// Spec R-BUD-18.
/**
 * Waits until the request can reserve the amount that it would get if all open reservations were returned. Also ends
 * when they have been returned and too little is left. The wait ends when reservations are settled, by an abort (which
 * includes a time limit), or by the cut-off of a question.
 */
export async function waitForFunds(run: Run, bounds: Waiting, first: Shortage, emit: Emit): Promise<FundsWaitResult> {
  const figures = figuresOfShortage(first)
  const report = (isWaiting: boolean): void => {
    if (!run.ports.hasListener()) return
    emit({ type: 'budget_wait', isWaiting, ...figures })
    emitFigures(run, emit, estimateRequest(run))
  }
  const waited = waitInQueue(run, bounds, first)
  report(true)
  const result = await waited
  report(false)
  if (result.kind === 'aborted') return { record: { outcome: 'aborted', cause: result.cause, ...figures } }
  return { record: { outcome: result.grant.granted ? 'granted' : 'refused', ...figures }, reserved: result }
}

type WaitEnd = ReservedGrant | { readonly kind: 'aborted'; readonly cause: AbortCause }

/** Joins the queue and waits for the answer there. */
function waitInQueue(run: Run, bounds: Waiting, first: Shortage): Promise<WaitEnd> {
  const { abort, ledger, rootLedger } = run.ports
  const { cutOff } = bounds
  return new Promise((resolve, reject) => {
    let shortage = first
    let leave = (): void => {}
    const settled = (): void => {
      abort.unlisten(listener)
      cutOff?.removeEventListener('abort', onCut)
    }
    /** Leaves the queue. */
    const end = (result: WaitEnd): void => {
      settled()
      leave()
      resolve(result)
    }
    const listener = { onAbort: (cause: AbortCause) => end({ kind: 'aborted', cause }) }
    const onCut = (): void => end(refusedShortage(shortage))
    const cause = abort.causeNow()
    if (cause !== undefined) return listener.onAbort(cause)
    if (cutOff?.aborted === true) return onCut()
    const retry: Parameters<Ledger['queue']['join']>[1] = (ahead) => {
      try {
        const result = reserveRequest(run, bounds, ahead)
        if (result.kind === 'short') {
          shortage = result
          return { kind: 'waits', shortOn: result.shortOn }
        }
        resolve(result)
      } catch (error) {
        // An error of the prices ends this run, not the run whose request was settled.
        reject(error)
      }
      settled()
      return { kind: 'answered' }
    }
    leave = ledger.queue.join(first.shortOn, retry, rootLedger)
    abort.listen(listener)
    cutOff?.addEventListener('abort', onCut, { once: true })
  })
}

function figuresOfShortage({ needed, reservedBy }: Shortage): FundsWanted {
  return {
    neededUsd: usdOf(needed.nanos),
    neededTokens: needed.tokens,
    reservedUsd: usdOf(reservedBy.nanos),
    reservedTokens: reservedBy.tokens,
    holders: reservedBy.holders,
  }
}
