import { laterWaits } from '../model/service-waits.ts'
import type { AgentFigures } from '../state/agent-figures.ts'
import { changeCount } from '../verification/goal-progress.ts'
import { carriedSettings, permissionChange } from '../state/settings-change.ts'
import { withModelUsage } from '../state/state.ts'
import type { Run } from './run.ts'
import type { FileWork } from '../verification/file-work.ts'
import { afterAgent, afterWork, type VerificationProgress } from '../verification/progress.ts'

/** An ended agent, for its parent's figures. */
interface EndedAgent {
  /** Null for an agent that never began. */
  readonly spent: AgentFigures | null
  /** The call that receives its result; null for a background agent. */
  readonly callId: string | null
  /** Lines that its parent had changed when it began. */
  readonly changedAtStart: number
}

/** Adds what the agent spent to its parent's figures. */
export function enterAgent(run: Run, { spent: child, callId, changedAtStart }: EndedAgent): void {
  if (child === null) return
  const { spent } = run
  let { modelUsage } = spent
  for (const [model, { usage, nanos }] of Object.entries(child.modelUsage)) {
    modelUsage = withModelUsage(modelUsage, model, usage, nanos)
  }
  run.update({
    modelUsage,
    totalTokens: spent.totalTokens + child.totalTokens,
    nanos: spent.nanos + child.nanos,
    unknownNanos: spent.unknownNanos + child.unknownNanos,
    subagents: spent.subagents + child.subagents,
    ...(child.toolCalls !== undefined && { toolCalls: (spent.toolCalls ?? 0) + child.toolCalls }),
    ...(child.waits !== undefined && { waits: laterWaits(spent.waits, child.waits) }),
    stillRunning: [...spent.stillRunning, ...child.stillRunning],
    now: Math.max(spent.now, child.now),
  })
  noteFileWorkOfAgent(run, child.verification, changedAtStart)
  if (child.changes !== undefined) noteChanges(run, child.changes.calls, callId)
  // A person's permission changes for a call of the agent apply to the whole session. A background agent may have been
  // started with some of them already.
  const learned = carriedSettings(run.spent.settings, child.settings)
  const known = run.spent.settings?.permissionUpdates ?? []
  if (learned !== run.spent.settings) run.set(permissionChange(learned?.permissionUpdates?.slice(known.length) ?? []))
}

/**
 * Records calls that may have changed something outside the run, which invalidates earlier checks. `by`: the id of the
 * call whose result is in the next entry.
 */
export function noteChanges(run: Run, calls: number, by: string | null): void {
  run.update({ changes: { calls: changeCount(run.spent) + calls, at: run.transcript.length, by } })
}

/** Records what a call did to files. */
export function noteFileWork(run: Run, work: FileWork): void {
  if (run.context.verification === null) return
  run.update({ verification: afterWork(run.spent.verification, work) })
}

/** Records what a subagent did to files. */
function noteFileWorkOfAgent(run: Run, agent: VerificationProgress | undefined, changedAtStart: number): void {
  if (run.context.verification === null || agent === undefined) return
  run.update({ verification: afterAgent(run.spent.verification, agent, changedAtStart) })
}
