import { after, type Eventually } from '../values/eventually.ts'
import { StopSignal } from '../endings/signal.ts'
import { terminalOf } from '../endings/terminal.ts'
import { jsonObjectOf } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { callLimitDraft } from '../tool-calls/batch.ts'
import type { PendingCall, RaisedStop, ToolPhase } from '../run/tool-phase.ts'
import { askGuards, controlAt } from '../run/checkpoint.ts'
import { abortDraft, maxTurnsDraft, standingDraft } from '../run/pending-endings.ts'
import { goalAfterTurn } from './goals.ts'
import { loweredLimitDraft } from './lowered-limit.ts'
import { draftOf, ends, goesOn, onward, type Draft, type Outcome, type Route } from '../run/outcome.ts'
import { reminderRoutes } from '../run/repetition.ts'
import type { Run } from '../run/run.ts'
import { addHookMessages, noSubject, runHooks } from '../request/run-hooks.ts'
import { waitingForApproval } from '../endings/ending-texts.ts'

/**
 * Checks after the tools, in this order: abort, a stop thrown by a tool, hook_stopped, needs_approval, guards, lowered
 * limits, max_tool_calls, a met goal, max_turns.
 */
export function afterTools(run: Run, phase: ToolPhase): Eventually<Outcome> {
  return after(controlAt(run, 'after_tools'), (controlAbort) => {
    const abort = phase.abort ?? controlAbort
    if (abort !== undefined) return ends(abortDraft(run, abort, 'tools'))
    for (const { signal } of phase.stops) run.raise(signal, 'after_tools')
    const position = run.turnEnd
    const { raisedBy, reminders } = askGuards(run, 'after_tools', position)
    return after(runHooks(run, 'afterStep', noSubject, position), (hooks) => {
      addHookMessages(run, hooks.messages)
      if (hooks.aborted !== undefined) return ends(abortDraft(run, hooks.aborted, 'tools'))
      const ending = stopDraft(phase) ?? standing(run, raisedBy) ?? loweredLimitDraft(run) ?? callLimitDraft(run, phase)
      if (ending !== undefined) return ends(ending)
      return after(goalAfterTurn(run), (held) =>
        held === undefined
          ? goesOn([...reminderRoutes(run, reminders, position), ...nextTurn], () => maxTurnsDraft(run))
          : ends(held),
      )
    })
  })
}

const nextTurn: readonly Route[] = [onward('next_turn')]

/** The ending if a tool threw a stop, a hook stopped the run, or a call needs approval. */
function stopDraft({ stops, pending, calls }: ToolPhase): Draft | undefined {
  const thrown = stops.find((stop) => stop.origin === 'tool')
  if (thrown !== undefined) return draftOf(terminalOf(thrown.signal, 'tool'), thrown.signal)
  if (stops[0] !== undefined) return hookStopDraft(stops[0])
  return pending.length > 0 ? approvalDraft(pending, calls) : undefined
}

function standing(run: Run, raisedBy: readonly string[]): Draft | undefined {
  return run.signals.hasAny() ? standingDraft(run, raisedBy) : undefined
}

function hookStopDraft(stop: RaisedStop): Draft {
  const reason = terminalOf(stop.signal, stop.origin)
  if (reason !== 'hook_stopped') return draftOf(reason, stop.signal)
  const say = {
    type: 'hook_stopped_continuation',
    hook: stop.hook ?? '',
    message: stop.signal.message,
    callId: stop.callId,
  } as const
  return draftOf(reason, stop.signal, { say })
}

function approvalDraft(pending: readonly PendingCall[], calls: ToolPhase['calls']): Draft {
  const names = pending.map(({ call }) => call.name).join(', ')
  const signal = new StopSignal({
    reason: 'stop_requested',
    message: waitingForApproval(names),
    context: {
      pending: pending.map(({ call, message }) => ({
        id: call.id,
        name: call.name,
        message,
        // Includes the input only if a hook changed it; otherwise the transcript contains it.
        ...(!isAsMade(call, calls) && { input: jsonObjectOf(call.input) }),
      })),
    },
    source: 'permissions',
  })
  return draftOf('needs_approval', signal)
}

function isAsMade({ id, input }: ToolUseBlock, calls: readonly ToolUseBlock[]): boolean {
  const made = calls.find((call) => call.id === id)?.input
  return made === input || JSON.stringify(made) === JSON.stringify(input)
}
