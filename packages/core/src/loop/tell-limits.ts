import { after, type Eventually } from '../values/eventually.ts'
import type { LimitsTold } from '../state/state.ts'
import type { Outcome } from '../run/outcome.ts'
import { leftOf, limitsInUse, type LimitUse } from '../run/limits-left.ts'
import { isAsked, type Run } from '../run/run.ts'
import { remainingLimits } from '../run/turn-texts.ts'

/** Shares of a limit at which the model is told what is left of it, in percent. */
const sharesTold = [50, 80, 95] as const

/** What was told before a request. JSON. */
type LimitsReminder = { readonly text: string; readonly told: LimitsTold }

// Spec R-TELL-1.
/** Before a turn: tells the model what is left of limits that are half used, once for each share. */
export function tellLimits(run: Run): Eventually<Outcome | undefined> {
  if (!run.context.settings.limitReminders) return undefined
  const name = `limits:${run.spent.request}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && isAsked(run)) return undefined
  const due = dueLimits(run)
  if (!isRecorded && due.length === 0) return undefined
  const step = run.step<LimitsReminder>(name, () => reminderOf(due, run.spent.limitsTold))
  return after(step, ({ value: { text, told } }) => {
    run.append({
      kind: 'user',
      id: run.entryId('limits'),
      message: { role: 'user', content: text },
      origin: 'loop',
    })
    run.update({ limitsTold: told })
    return undefined
  })
}

interface DueLimit extends LimitUse {
  readonly percent: number
}

/** Limits of which another share is used than was told last. One that was raised or lowered since is told anew. */
function dueLimits(run: Run): readonly DueLimit[] {
  const { limitsTold = {} } = run.spent
  return limitsInUse(run).flatMap((use): DueLimit[] => {
    const percent = sharesTold.findLast((share) => use.used * 100 >= use.limit * share)
    if (percent === undefined || use.limit === Infinity) return []
    const before = limitsTold[use.of]
    const isTold = before !== undefined && before.limit === use.limit && before.percent >= percent
    return isTold ? [] : [{ ...use, percent }]
  })
}

function reminderOf(due: readonly DueLimit[], before: LimitsTold = {}): LimitsReminder {
  const told = Object.fromEntries(due.map(({ of, limit, percent }) => [of, { limit, percent }]))
  const text = remainingLimits(due.map((use) => ({ of: use.of, left: leftOf(use), limit: use.limit })))
  return { text, told: { ...before, ...told } }
}
