import { programNames } from '../foreign/session.ts'
import { accountOf, type Account } from '../account/account.ts'
import type { StepRecord } from '@halting/core/steps'
import { recordedText, skippedText, unpricedText } from '../foreign/foreign-text.ts'
import type { AnySession } from '../sessions/read-session.ts'

/** The account of another program's run: its limits are not recorded, and retry limits do not apply to it. */
export function foreignAccount(records: readonly StepRecord[]): Account {
  return { ...accountOf(records), limits: [], laps: [] }
}

/** Remarks on the record of a session. */
export function aboutRecord({ foreign, runs, unpriced }: AnySession): readonly string[] {
  if (foreign === undefined) return [unpricedText(unpriced.flat())].filter((text) => text !== '')
  const { program, skipped } = foreign
  const costUsd = runs.reduce((sum, records) => sum + accountOf(records).totals.costUsd, 0)
  return [
    `${programNames[program]} recorded this session. It does not record limits or why a run ended, so the ending is inferred. Times are the differences between the timestamps of two lines.`,
    unpricedText(unpriced.flat()),
    recordedText([{ foreign, costUsd }]),
    skippedText([skipped]),
  ].filter((text) => text !== '')
}
