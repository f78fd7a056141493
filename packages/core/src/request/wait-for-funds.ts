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

/** The same in this process: what it got is taken aside. */
export interface Waited {
  readonly record: FundsWait
  readonly reserved?: Reserved
}

type Waiting = RequestBounds & { readonly cutOff?: AbortSignal }

// Spec R-BUD-18.
/**
 * Waits until the request has what it would have if all open reservations came back, or until these have come back and it still has too little. It ends by the settlement of what is reserved, by an abort, which a time limit is too, or by the cut-off of a question.
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

/** Takes its place in the queue, and waits for its answer there. */
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
    /** It gives its place up. */
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
        // Prices that fail end this run, and not the one whose request was settled.
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
