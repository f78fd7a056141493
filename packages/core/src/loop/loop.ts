import { decide } from './decide.ts'
import type { Emit } from '../state/events.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { finishBroken } from './finish.ts'
import { joinStaging } from './collapse.ts'
import type { FinishedRun, RunContext, RunPorts } from '../run/run-context.ts'
import type { RunState } from '../state/state.ts'
import { afterReply } from './after-reply.ts'
import { actOnApproved } from './act.ts'
import { ask, type Reply } from './ask.ts'
import { finishWrapUp } from './finish-wrap-up.ts'
import type { Outcome } from '../run/outcome.ts'
import { prepare } from './prepare.ts'
import { recover } from './recover.ts'
import { beginAgents } from '../tool-calls/background-agents.ts'
import { Run } from '../run/run.ts'

/** The loop. Every entry point that runs an agent calls it. Never rejects: a run that breaks ends as `error`. */
export function runLoop(context: RunContext, ports: RunPorts, start: RunState, emit: Emit): Promise<FinishedRun> {
  return iterate(new Run(context, ports, start, emit)) // This call does not retain the initial state.
}

async function iterate(run: Run): Promise<FinishedRun> {
  try {
    beginAgents(run) // Starts the background agents that an earlier process had started.
    for (;;) {
      const ended = await runIteration(run)
      if (ended !== undefined) return ended
      await run.ports.catchUp() // Lets a fast reader of the events catch up. The loop does not wait for a slow reader.
    }
  } catch (thrown) {
    return finishBroken(run, thrown)
  }
}

/** Runs a turn and decides how the run continues. The frame of the loop keeps no reference to the result, since it lives as long as the run. */
function runIteration(run: Run): MaybePromise<FinishedRun | undefined> {
  const outcome = turn(run)
  return outcome instanceof Promise ? outcome.then((settled) => afterTurn(run, settled)) : afterTurn(run, outcome)
}

function afterTurn(run: Run, outcome: Outcome): MaybePromise<FinishedRun | undefined> {
  const joined = joinStaging(run)
  // Applies signals, overrides and the wrap-up; charges the iteration and records it.
  return joined === undefined ? decide(run, outcome) : andThen(joined, () => decide(run, outcome))
}

/** One turn: prepare, ask the model, then run its calls, check its answer, or recover. */
function turn(run: Run): MaybePromise<Outcome> {
  if (run.spent.approvals !== null) return actOnApproved(run)
  return andThen(prepare(run), (ended) => ended ?? ask(run, onReply)) // The model streams its reply.
}

function onReply(run: Run, reply: Reply): MaybePromise<Outcome> {
  if (run.spent.closing !== null) return finishWrapUp(run, reply)
  if (reply.kind !== 'answered') return recover(run, reply)
  return afterReply(run, reply) // Then permissions, hooks and tools; or stop hooks, token target, `completed`.
}
