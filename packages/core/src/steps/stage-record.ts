import { zeroAmount, type Amount } from '../limits/ledger.ts'
import { nanosOf } from '../model/prices.ts'
import type { JsonObject } from '../values/json.ts'
import type { Usage } from '../model/messages.ts'

// Spec R-AFTER-4.
/** How a stage after a run ended: a closed set. */
export type StageReason =
  | 'completed'
  /** There was nothing to do. */
  | 'skipped'
  | 'max_turns'
  /** Its own dollar budget, or that of the session, was used up. */
  | 'max_budget_usd'
  | 'token_limit'
  | 'time_limit'
  /** The program is ending, or the caller aborted the stage. */
  | 'aborted'
  /** The stage threw, or the model gave no answer. */
  | 'failed'

/** The id and the name of a stage, and the id of the run before it. */
export type StageIdentity = {
  /** `run1/after/memory`: unique in the session. */
  readonly id: string
  /** Id of the run. */
  readonly runId: string
  /** Name of the stage. */
  readonly name: string
}

/** The result of a stage. JSON. */
export type StageReport = StageIdentity & {
  /** How the stage ended. */
  readonly reason: StageReason
  /** A sentence; '' if there is nothing to report. */
  readonly message: string
  /** Facts for programs; absent if there are none. */
  readonly details?: JsonObject
  /** Requests that it made. */
  readonly turns: number
  /** US dollars charged. */
  readonly costUsd: number
  /** US dollars including what unknown and aborted attempts may have cost. */
  readonly committedUsd: number
  /** Input and output tokens; unknown ones at worst case. */
  readonly tokens: number
  /** Figures by exact model id. */
  readonly modelUsage: {
    readonly [model: string]: {
      /** Tokens. */
      readonly usage: Usage
      /** US dollars. */
      readonly costUsd: number
    }
  }
  /** Duration in milliseconds. */
  readonly durationMs: number
}

// Spec R-AFTER-6.
/**
 * A record of a stage. The start record precedes the first question and contains the maximum that the stage may spend.
 * That amount is charged if its end is never recorded.
 */
export type StageRecord =
  | (StageIdentity & {
      readonly phase: 'began'
      /** The maximum that the stage may spend. */
      readonly most: Amount
    })
  | (StageReport & { readonly phase: 'ended' })

/** A stage from its records. */
export interface RecordedStage extends StageIdentity {
  /** The maximum that the stage may spend. */
  readonly most: Amount
  /** Its result; null if the process ended during the stage. */
  readonly ended: StageReport | null
}

/** Stages in order of their start. */
export function stagesOf(records: Iterable<StageRecord>): readonly RecordedStage[] {
  const stages = new Map<string, RecordedStage>()
  for (const record of records) {
    const { id, runId, name } = record
    if (record.phase === 'began') {
      stages.set(id, { id, runId, name, most: record.most, ended: null })
      continue
    }
    const { phase: _phase, ...ended } = record
    stages.set(id, { id, runId, name, most: stages.get(id)?.most ?? zeroAmount, ended })
  }
  return [...stages.values()]
}

/** The amount that a stage contributes to the ledger: its spending, or the maximum that it may spend if its end was not recorded. */
export function spentOfStage({ most, ended }: RecordedStage): {
  /** Spending of finished requests. */
  readonly settled: Amount
  /** The part of it that was charged at worst case. */
  readonly unknown: Amount
} {
  if (ended === null) return { settled: most, unknown: most }
  const committed = nanosOf(ended.committedUsd)
  const unknown = { nanos: committed - nanosOf(ended.costUsd), tokens: 0 }
  return { settled: { nanos: committed, tokens: ended.tokens }, unknown }
}
