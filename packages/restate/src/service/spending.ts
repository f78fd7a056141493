import { recordedSpending, type FoldedSession } from '@halting/core/steps'
import type { Spent } from '@halting/core/adapters'

/** Total that a session has spent or may have spent, in whole nano-dollars. */
export function sessionSpending(session: FoldedSession): Spent {
  const { settled, unknown } = recordedSpending(session)
  return { nanos: settled.nanos, unknownNanos: unknown.nanos }
}

/** Subtracts what another session paid. */
export function withoutInherited({ nanos, unknownNanos }: Spent, inherited: Spent): Spent {
  return {
    nanos: Math.max(0, nanos - inherited.nanos),
    unknownNanos: Math.max(0, unknownNanos - inherited.unknownNanos),
  }
}

export const noSpending: Spent = Object.freeze({ nanos: 0, unknownNanos: 0 })
