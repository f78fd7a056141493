import { nothing, type Amount } from '../limits/ledger.ts'
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
  /** Its own dollars, or those of the session. */
  | 'max_budget_usd'
  | 'token_limit'
  | 'time_limit'
  /** The program ends, or the caller has no more use for it. */
  | 'aborted'
  /** It threw, or the model gave no answer. */
  | 'failed'

/** Which stage, and after which run. */
export type StageIdentity = {
  /** `run1/after/memory`: no other of the session has it. */
  readonly id: string
  /** Id of the run. */
  readonly runId: string
  /** Name of the stage. */
  readonly name: string
}

/** How a stage went. JSON. */
export type StageReport = StageIdentity & {
  /** How the stage ended. */
  readonly reason: StageReason
  /** In a sentence; '' for nothing to say. */
  readonly message: string
  /** Facts for programs; absent for none. */
  readonly details?: JsonObject
  /** Requests that it made. */
  readonly turns: number
  /** Settled, in US dollars. */
  readonly costUsd: number
  /** With what unknown and aborted attempts may have cost. */
  readonly committedUsd: number
  /** Input and output; unknown ones at worst case. */
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
  /** Milliseconds that it took. */
  readonly durationMs: number
}

// Spec R-AFTER-6.
/**
 * What is on record of a stage. Its beginning is there before its first question, with the most that it may spend: that is what it is charged if
 * nobody sees its end.
 */
export type StageRecord =
  | (StageIdentity & {
      readonly phase: 'began'
      /** The most that it may spend. */
      readonly most: Amount
    })
  | (StageReport & { readonly phase: 'ended' })

/** A stage as its records tell it; `ended` is null where a process was ended in its middle. */
export interface RecordedStage extends StageIdentity {
  /** The most that it may spend. */
  readonly most: Amount
  /** How it went; null where a process ended in the middle of it. */
  readonly ended: StageReport | null
}

/** Stages in the order in which they began. */
export function stagesOf(records: Iterable<StageRecord>): readonly RecordedStage[] {
  const stages = new Map<string, RecordedStage>()
  for (const record of records) {
    const { id, runId, name } = record
    if (record.phase === 'began') {
      stages.set(id, { id, runId, name, most: record.most, ended: null })
      continue
    }
    const { phase: _phase, ...ended } = record
    stages.set(id, { id, runId, name, most: stages.get(id)?.most ?? nothing, ended })
  }
  return [...stages.values()]
}

/** What a stage counts for on the ledger: what it came to; the most that it might have, where nobody saw its end. */
export function spentOfStage({ most, ended }: RecordedStage): {
  /** What finished requests came to. */
  readonly settled: Amount
  /** The part of it that was charged at worst case. */
  readonly unknown: Amount
} {
  if (ended === null) return { settled: most, unknown: most }
  const committed = nanosOf(ended.committedUsd)
  const unknown = { nanos: committed - nanosOf(ended.costUsd), tokens: 0 }
  return { settled: { nanos: committed, tokens: ended.tokens }, unknown }
}
