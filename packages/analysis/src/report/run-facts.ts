import { endings, type EndingReason } from '@halting/core'
import { isText } from '@halting/core/adapters'
import { accountOf, type Account } from '../account/account.ts'
import { recordedWork, type RecordedWork } from '../account/recorded-work.ts'
import { trajectoryOf, type Trajectory } from '../what-if/trajectory.ts'
import type { StepRecord } from '@halting/core/steps'
import { mayChange } from '../what-if/changing-calls.ts'

/** What a report needs to know about one run. Computed while its session is in memory. */
export interface RunFacts {
  readonly account: Account
  readonly work: RecordedWork
  readonly trajectory: Trajectory
  readonly reason: EndingReason | null
  readonly exitCode: number | null
  /** Whether its last reply is an answer: text without calls. */
  readonly hasAnswer: boolean
  /** Finished calls that may have changed something. */
  readonly changes: number
  readonly compactions: number
  /** Its first prompt. */
  readonly prompt: string
}

export function runFactsOf(records: readonly StepRecord[]): RunFacts {
  const account = accountOf(records)
  const work = recordedWork(records)
  const trajectory = trajectoryOf(records)
  const reason = account.ending?.reason ?? null
  return {
    account,
    work,
    trajectory,
    reason,
    exitCode: reason === null ? null : endings[reason].exitCode,
    hasAnswer: trajectory.ending?.hasAnswer ?? false,
    changes: work.calls.filter((call) => call.status === 'done' && mayChange(call)).length,
    compactions: compactionsIn(records),
    prompt: promptIn(records),
  }
}

/** Compactions of this run, without those that were carried over. */
function compactionsIn(records: readonly StepRecord[]): number {
  let [carried, reached] = [0, 0]
  for (const record of records) {
    if (record.type === 'start' && record.scope === '') carried = reached = record.start.spent.compactions
    else if (record.type === 'lap' && record.lap.scope === '') reached = record.lap.spent.compactions
    else if (record.type === 'end' && record.scope === '') reached = record.spent.compactions
  }
  return Math.max(0, reached - carried)
}

function promptIn([first]: readonly StepRecord[]): string {
  if (first?.type !== 'start') return ''
  const prompt = first.start.added.find((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  if (prompt?.kind !== 'user') return ''
  const { content } = prompt.message
  return typeof content === 'string' ? content : (content.find(isText)?.text ?? '')
}
