import { after, type Eventually } from '../eventually.ts'
import type { Charge } from './request/bill.ts'
import { chargeOfStep, restoreForAgent } from './request/charge.ts'
import { enterCharge } from './request/questions.ts'
import type { Run } from './run.ts'

/** JSON. */
type LostRecord = {
  readonly charges: readonly Charge[]
}

/**
 * Pays what the record of a resumed run holds of requests that nobody asks for any more: of a hook, a tool or a subagent that is gone, or that an abort
 * leaves unasked. Nothing may be on record behind this point but what the caller writes next. What was paid is a step of its own, so that a replay and
 * a further resume come to the same (spec R-RES-10c).
 */
export function payLostRequests(run: Run): Eventually<undefined> {
  const { steps, isResumed } = run.ports
  const name = `lost:${run.spent.request}`
  const isPaid = steps.peek(run.key(name)) === 'done'
  if (!isPaid && !isResumed) return undefined
  const charges = isPaid ? [] : steps.abandon(run.key('')).flatMap(chargeOfStep)
  if (!isPaid && charges.length === 0) return undefined
  return after(
    run.step<LostRecord>(name, () => ({ charges })),
    ({ value }) => {
      // What is paid for is paid once: whoever comes behind finds none of it.
      if (isPaid && isResumed) steps.abandon(run.key(''))
      restoreForAgent(run, value.charges)
      for (const charge of value.charges) enterCharge(run, charge)
      return undefined
    },
  )
}
