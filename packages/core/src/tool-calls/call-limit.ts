import { StopSignal } from '../endings/signal.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { toolCallsTaken } from '../state/agent-figures.ts'
import { notRun, type ToolResult } from '../tools/tool-result.ts'
import { draftOf, type Draft } from '../run/outcome.ts'
import type { Run } from '../run/run.ts'
import type { ToolPhase } from '../run/tool-phase.ts'
import { callLimitReached } from './call-texts.ts'
import { callLimit } from '../endings/ending-texts.ts'

// How many calls of tools a run may make, those of its agents with them (spec R-CALLS-1).

/** Calls that may still be made, by what is on record; Infinity for no limit. */
export function callsLeft({ context, spent }: Pick<Run, 'context' | 'spent'>): number {
  const { maxToolCalls } = context.settings
  return maxToolCalls === Infinity ? Infinity : Math.max(0, maxToolCalls - toolCallsTaken(spent))
}

/**
 * Lets as many calls of the message run as there are left. Where these are fewer, their number is on record before one of them runs: a resume under another
 * limit has it stand. What is on record as run was let run.
 */
export function limitCalls(run: Run, phase: ToolPhase): Eventually<void> {
  const left = callsLeft(run)
  const name = `call_limit:${run.spent.request}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && (left >= phase.calls.length || isPassed(run, phase, left))) return undefined
  return after(
    run.step<number>(name, () => left),
    ({ value }) => {
      phase.allowedCalls = value
      phase.callLimit = limitOf(run, value)
    },
  )
}

/** The limit that let so many calls run, also where another one was set since. */
function limitOf({ context, spent }: Run, allowed: number): number {
  const taken = toolCallsTaken(spent)
  return allowed > 0 ? taken + allowed : Math.min(taken, context.settings.maxToolCalls)
}

/** A call beyond the limit is on record, or the turn is. */
function isPassed(run: Run, phase: ToolPhase, left: number): boolean {
  return run.turnEnd === 'passed' || phase.callStart(left) === 'passed'
}

/** The result of a call that was one too many. */
export function beyondLimit({ callLimit }: ToolPhase): ToolResult {
  return notRun(callLimitReached(callLimit))
}

/** How the run ends where the message asked for more calls than were left; undefined where it did not. */
export function callLimitDraft({ spent }: Run, phase: ToolPhase): Draft | undefined {
  const refused = phase.calls.length - phase.allowedCalls
  if (refused <= 0) return undefined
  const { callLimit: limit } = phase
  const used = toolCallsTaken(spent)
  const signal = new StopSignal({
    reason: 'steps_limit',
    message: callLimit(limit, refused),
    context: { used, limit, refused },
    source: 'max_tool_calls',
  })
  return draftOf('max_tool_calls', signal, { raisedBy: ['limit:tool_calls'], isOwnLimit: true })
}
