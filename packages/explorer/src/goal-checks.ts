import type { RunEvent, RunResult, StepRecord } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { fail } from './assert-same-events.ts'

// What must hold for the goals of a run, according to its records and events.

type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

/**
 * The rounds of checks on record are exactly those emitted, and the result has the outcome of the last one. `events`: those of a whole replay. `mayHaveMore`: the record may have
 * rounds that were never replayed.
 */
export function checkGoals(
  events: readonly RunEvent[],
  { records, terminal }: { readonly records: readonly StepRecord[]; readonly terminal: RunResult },
  mayHaveMore: boolean,
  where: string,
): void {
  const emitted = emittedRounds(events).map(({ met, checks, tampered }) => JSON.stringify({ met, checks, tampered }))
  const onRecord = [...roundsOnRecord(records)]
  for (const round of emitted) {
    const index = onRecord.indexOf(round)
    if (index < 0) fail(`${where} emits a round of checks that is not on record: ${round}`)
    onRecord.splice(index, 1)
  }
  if (!mayHaveMore && onRecord.length > 0) fail(`${where} does not emit rounds of checks: ${onRecord.join('; ')}`)
  checkGoalResult(events, terminal, where)
}

/** Rounds of the run and of its subagents. */
function emittedRounds(events: readonly RunEvent[]): readonly GoalEnd[] {
  return events.flatMap((event) => {
    if (event.type === 'agent') return emittedRounds([event.event])
    return event.type === 'goal_end' ? [event] : []
  })
}

function roundsOnRecord(records: readonly StepRecord[]): readonly string[] {
  return records.flatMap((record) => {
    if (record.type !== 'result' || !/\/?goal:\d+:(?:baseline|answer|turn|limit)(?:\/asked)?$/.test(record.key))
      return []
    const { value } = record
    // If a round asks a model, its outcome is in a separate step.
    const round = record.key.endsWith('/asked') && isJsonObject(value) ? value['value'] : value
    if (!isJsonObject(round) || round['asks'] === true) return []
    const { met, checks, tampered } = round
    return [JSON.stringify({ met, checks, tampered })]
  })
}

/** A run is completed only if its goals are met, and never claims that they are met if the last check says otherwise. */
function checkGoalResult(events: readonly RunEvent[], { reason, goal }: RunResult, where: string): void {
  const last = events.findLast((event): event is GoalEnd => event.type === 'goal_end')
  if (goal === undefined) return
  if (reason === 'completed' && goal.met !== true && !hasPlan(events))
    fail(`${where} ended as completed, and its goal is ${String(goal.met)}`)
  if (reason === 'goal_unmet' && goal.met === true) fail(`${where} ended as goal_unmet, and its goal is met`)
  if (goal.met === true && last?.met !== true) fail(`${where} reports its goal as met, but the last check did not`)
  if (goal.met === false && last?.met !== false) fail(`${where} reports its goal as not met, but no check did`)
}

/** The last mode that the person set was plan mode. */
function hasPlan(events: readonly RunEvent[]): boolean {
  const modes = events.flatMap((event) =>
    event.type === 'settings' && event.change.permissionMode !== undefined ? [event.change.permissionMode] : [],
  )
  return modes.at(-1) === 'plan'
}
