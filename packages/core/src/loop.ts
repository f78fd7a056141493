import { decide } from './decide.ts'
import type { Emit } from './events.ts'
import { brokenError, conclude } from './finish.ts'
import { createHookRegistry } from './hooks/registry.ts'
import type { Ended, Ports } from './ports.ts'
import type { RunState } from './state.ts'
import { StopSignal } from './stop/signal.ts'
import { closeBrokenCalls } from './turn/close-calls.ts'
import { actOnApproved, close, hear, unfinished } from './turn/hear.ts'
import { draftOf, type Outcome } from './turn/outcome.ts'
import { prepare } from './turn/prepare.ts'
import { recover } from './turn/recover.ts'
import { respond } from './turn/respond.ts'

/** The one loop. Everything that runs an agent calls this. It never rejects: a run that breaks ends as `error`. */
export async function run(start: RunState, ports: Ports, emit: Emit): Promise<Ended> {
  let state = start
  try {
    for (;;) {
      const outcome = await turn(state, ports, emit)
      const verdict = await decide(state, outcome, ports, emit) // signals, overrides, wrap-up; spends the allowance of the transition
      if (verdict.kind === 'end') return verdict
      state = verdict.state // recorded by steps.lap()
    }
  } catch (thrown) {
    return broken(thrown, state, ports, emit)
  }
}

/** One time round: prepare, ask the model, then act on what it said or settle the run. */
async function turn(state: RunState, ports: Ports, emit: Emit): Promise<Outcome> {
  if (state.spent.approvals !== null) return actOnApproved(state, ports, emit)
  const ready = await prepare(state, ports, emit) // guards, cancellation, inbox; context defence
  if (ready.kind === 'outcome') return ready
  const reply = await respond(ready.state, ports, emit) // streams
  if (state.spent.closing !== null) return close(reply, emit)
  if (reply.kind !== 'answered') return recover(reply, ports, emit)
  return unfinished(reply, ports, emit) ?? hear(reply, ports, emit) // permissions, hooks, tools; or stop hooks, token target, completed
}

/** Still exactly one terminal, and a result for every call, without asking anybody who might break again. */
export async function broken(thrown: unknown, state: RunState, ports: Ports, emit: Emit): Promise<Ended> {
  const error = brokenError(thrown)
  const signal = new StopSignal({
    reason: 'error',
    message: error.message,
    context: { code: error.code },
    source: 'run',
  })
  const draft = draftOf('error', signal, { say: { error: 'unknown', message: error.message }, error })
  const { spent } = ports.progress
  const reached = spent !== undefined && spent.request === state.spent.request ? spent : state.spent
  const continuation = state.continuation.withNewStopSignal(signal)
  const newest: RunState = { ...state, spent: reached, transcript: state.transcript.newest(), continuation }
  const latest = closeBrokenCalls(newest, ports.progress, emit)
  const ended = await conclude(latest, draft, { ...ports, hooks: createHookRegistry(), postRun: [] }, emit)
  // A driver that failed cannot record the end either; the caller still gets it.
  await ports.steps.end(ended.terminal).catch(() => {})
  emit({ type: 'run_end', terminal: ended.terminal })
  return ended
}
