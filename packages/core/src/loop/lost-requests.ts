import { after, type Eventually } from '../values/eventually.ts'
import type { StepKey } from '../steps/steps.ts'
import type { Charge } from '../run/request-bill.ts'
import { chargeOfStep, restoreForAgent } from '../request/charge.ts'
import { enterCharge } from '../request/questions.ts'
import type { Run } from '../run/run.ts'

/** An attempt that nobody asked for any more. JSON. */
type LostRequest = { readonly key: StepKey; readonly charge: Charge }

/** JSON. */
type LostRecord = {
  readonly lost: readonly LostRequest[]
}

// Spec R-RES-10c.
/**
 * Pays what the record of a resumed run holds of requests that nobody asks for any more: of a hook, a tool or a subagent that is gone, or that an abort
 * leaves unasked. Nothing may be on record behind this point but what the caller writes next. What was paid is a step of its own, so that a replay and
 * a further resume come to the same.
 */
export function payLostRequests(run: Run): Eventually<undefined> {
  return payPart(run, 1, new Set())
}

/** Each process that ends before its lap may leave a part of them on record. `paid`: those of the parts before. */
function payPart(run: Run, part: number, paid: Set<StepKey>): Eventually<undefined> {
  const { steps, isResumed } = run.ports
  const name = `lost:${run.spent.request}${part === 1 ? '' : `.${part}`}`
  const isOnRecord = steps.peek(run.key(name)) === 'done'
  if (!isOnRecord && !isResumed) return undefined
  const found = isOnRecord ? [] : lostRequests(run, paid)
  if (!isOnRecord && found.length === 0) return undefined
  return after(
    run.step<LostRecord>(name, () => ({ lost: found })),
    ({ value }) => {
      for (const { key, charge } of value.lost) {
        // Another program resumed since, and asked for it after all.
        if (isOnRecord && steps.peek(key) === 'absent') continue
        paid.add(key)
        restoreForAgent(run, [charge])
        enterCharge(run, charge)
      }
      return isOnRecord ? payPart(run, part + 1, paid) : undefined
    },
  )
}

/** Takes all that is left on record: whoever comes behind finds none of it. */
function lostRequests(run: Run, paid: ReadonlySet<StepKey>): readonly LostRequest[] {
  return run.ports.steps
    .abandon(run.key(''))
    .filter(({ key }) => !paid.has(key))
    .flatMap((step) => chargeOfStep(step).map((charge) => ({ key: step.key, charge })))
}
