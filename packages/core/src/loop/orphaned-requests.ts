import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { StepKey } from '../steps/step-engine.ts'
import type { Charge } from '../run/request-bill.ts'
import { chargeOfStep, restoreForAgent } from '../request/charge.ts'
import { enterCharge } from '../request/questions.ts'
import type { Run } from '../run/run.ts'

/** A recorded attempt at a request that the resumed run did not repeat. JSON. */
type OrphanedRequest = { readonly key: StepKey; readonly charge: Charge }

/** JSON. */
type OrphanedRecord = {
  readonly lost: readonly OrphanedRequest[]
}

// Spec R-RES-10c.
/**
 * Charges recorded requests that a resumed run does not repeat, for example of a hook, tool or subagent that no longer
 * exists, or after an abort. Call it only after all other records of this iteration have been read. The charge is a
 * separate step, so that a replay and a further resume produce the same totals.
 */
export function chargeOrphanedRequests(run: Run): MaybePromise<undefined> {
  return chargePart(run, 1, new Set())
}

/** Each process that ends before its iteration may leave some of these requests. `charged`: the requests of the previous parts. */
function chargePart(run: Run, part: number, charged: Set<StepKey>): MaybePromise<undefined> {
  const { steps, isResumed } = run.ports
  const name = `lost:${run.spent.request}${part === 1 ? '' : `.${part}`}`
  const isOnRecord = steps.peek(run.key(name)) === 'done'
  if (!isOnRecord && !isResumed) return undefined
  const orphaned = isOnRecord ? [] : orphanedRequests(run, charged)
  if (!isOnRecord && orphaned.length === 0) return undefined
  return andThen(
    run.step<OrphanedRecord>(name, () => ({ lost: orphaned })),
    ({ value }) => {
      for (const { key, charge } of value.lost) {
        // Another program has resumed the run since, and repeated this request.
        if (isOnRecord && steps.peek(key) === 'absent') continue
        charged.add(key)
        restoreForAgent(run, [charge])
        enterCharge(run, charge)
      }
      return isOnRecord ? chargePart(run, part + 1, charged) : undefined
    },
  )
}

/** Removes all remaining requests from the record, so that later calls do not find them. */
function orphanedRequests(run: Run, charged: ReadonlySet<StepKey>): readonly OrphanedRequest[] {
  return run.ports.steps
    .abandon(run.key(''))
    .filter(({ key }) => !charged.has(key))
    .flatMap((step) => chargeOfStep(step).map((charge) => ({ key: step.key, charge })))
}
