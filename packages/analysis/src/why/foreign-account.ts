import { programNames } from '../foreign/session.ts'
import { accountOf, type Account } from '../account/account.ts'
import type { StepRecord } from '@halting/core/steps'
import { recordedText, skippedText, unpricedText } from '../foreign/foreign-text.ts'
import type { AnySession } from '../sessions/read-session.ts'

/** An account of a run of another program: with which limits it ran is not on record, and allowances it had none. */
export function foreignAccount(records: readonly StepRecord[]): Account {
  return { ...accountOf(records), limits: [], laps: [] }
}

/** What is to be said of its record, beside what it tells. */
export function aboutRecord({ foreign, runs, unpriced }: AnySession): readonly string[] {
  if (foreign === undefined) return [unpricedText(unpriced.flat())].filter((text) => text !== '')
  const { program, skipped } = foreign
  const costUsd = runs.reduce((sum, records) => sum + accountOf(records).totals.costUsd, 0)
  return [
    `${programNames[program]} recorded this session. It records no limits, and no reason of an ending: the ending is inferred. Times are the differences between the timestamps of two lines.`,
    unpricedText(unpriced.flat()),
    recordedText([{ foreign, costUsd }]),
    skippedText([skipped]),
  ].filter((text) => text !== '')
}
