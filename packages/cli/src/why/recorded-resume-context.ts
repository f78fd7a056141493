import { accountOf, limitsInForce, recordedProgress } from '@halting/analysis'
import type { StepRecord } from '@halting/core/steps'
import type { ResumeContext } from './resume-command.ts'

/** The recorded data of the last run that the command to resume it needs: its goals, its wait limit, and whether it is waiting or paused. */
export function recordedResumeContext(
  runs: readonly (readonly StepRecord[])[],
): Pick<ResumeContext, 'goals' | 'waitForLimitsMs' | 'isWaiting' | 'pausedAt'> {
  const last = runs.at(-1)
  if (last === undefined) return {}
  const goals = recordedProgress(last).spent.goal?.specs
  const { waitForLimitsMs = 0 } = limitsInForce(last)
  const { serviceWaits, limitPauses } = accountOf(last)
  const isWaiting = (serviceWaits?.open ?? []).length > 0
  const pausedAt = limitPauses?.open
  return {
    ...(goals !== undefined && { goals }),
    ...(waitForLimitsMs > 0 && { waitForLimitsMs }),
    ...(isWaiting && { isWaiting }),
    ...(pausedAt !== undefined && { pausedAt }),
  }
}
