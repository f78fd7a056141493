import { decide } from './decide.ts'
import type { Emit } from '../state/events.ts'
import { after, type Eventually } from '../values/eventually.ts'
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

/** The one loop. Everything that runs an agent calls this. It never rejects: a run that breaks ends as `error`. */
export function runLoop(context: RunContext, ports: RunPorts, start: RunState, emit: Emit): Promise<FinishedRun> {
  return goRound(new Run(context, ports, start, emit)) // nothing holds the state that it began with
}

async function goRound(run: Run): Promise<FinishedRun> {
  try {
    beginAgents(run) // those of the background that a process before this one began
    for (;;) {
      const ended = await oneLap(run)
      if (ended !== undefined) return ended
      await run.ports.catchUp() // whoever reads the events, not whoever is slow
    }
  } catch (thrown) {
    return finishBroken(run, thrown)
  }
}

/** A turn, and what follows of it. Of what it came to nothing is left in the frame of the loop, which is there as long as the run. */
function oneLap(run: Run): Eventually<FinishedRun | undefined> {
  const outcome = turn(run)
  return outcome instanceof Promise ? outcome.then((came) => afterTurn(run, came)) : afterTurn(run, outcome)
}

function afterTurn(run: Run, outcome: Outcome): Eventually<FinishedRun | undefined> {
  const joined = joinStaging(run)
  // Signals, overrides, wrap-up; pays for the lap and records it.
  return joined === undefined ? decide(run, outcome) : after(joined, () => decide(run, outcome))
}

/** One time round (docs/turn.md): prepare, ask the model, then act on its calls, look at its answer, or recover. */
function turn(run: Run): Eventually<Outcome> {
  if (run.spent.approvals !== null) return actOnApproved(run)
  return after(prepare(run), (ended) => ended ?? ask(run, onReply)) // the model streams
}

function onReply(run: Run, reply: Reply): Eventually<Outcome> {
  if (run.spent.closing !== null) return finishWrapUp(run, reply)
  if (reply.kind !== 'answered') return recover(run, reply)
  return afterReply(run, reply) // permissions, hooks, tools; or stop hooks, token target, completed
}
