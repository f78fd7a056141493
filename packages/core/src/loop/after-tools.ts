import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { StopSignal } from '../endings/signal.ts'
import { endingReasonOf } from '../endings/run-result.ts'
import { jsonObjectOf } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { callLimitEnding } from '../tool-calls/batch.ts'
import type { PendingCall, RaisedStop, ToolPhase } from '../run/tool-phase.ts'
import { askGuards, externalInputAt } from '../run/cancellation-points.ts'
import { abortEnding, maxTurnsEnding, signalEnding } from '../run/pending-endings.ts'
import { goalAfterTurn } from './goals.ts'
import { loweredLimitEnding } from './lowered-limit.ts'
import {
  pendingEndingOf,
  endWith,
  proceed,
  continueWith,
  type PendingEnding,
  type Outcome,
  type Route,
} from '../run/outcome.ts'
import { reminderRoutes } from '../run/repetition.ts'
import type { Run } from '../run/run.ts'
import { addHookMessages, noSubject, runHooks } from '../request/run-hooks.ts'
import { waitingForApproval } from '../endings/ending-texts.ts'

/**
 * Runs the checks after the tools, in this order: abort, a stop thrown by a tool, hook_stopped, needs_approval, guards,
 * lowered limits, max_tool_calls, a met goal, max_turns.
 */
export function afterTools(run: Run, phase: ToolPhase): MaybePromise<Outcome> {
  return andThen(externalInputAt(run, 'after_tools'), (externalAbort) => {
    const abort = phase.abort ?? externalAbort
    if (abort !== undefined) return endWith(abortEnding(run, abort, 'tools'))
    for (const { signal } of phase.stops) run.raise(signal, 'after_tools')
    const position = run.turnEnd
    const { raisedBy, reminders } = askGuards(run, 'after_tools', position)
    return andThen(runHooks(run, 'afterStep', noSubject, position), (hooks) => {
      addHookMessages(run, hooks.messages)
      if (hooks.aborted !== undefined) return endWith(abortEnding(run, hooks.aborted, 'tools'))
      const ending =
        raisedStopEnding(phase) ??
        raisedSignalEnding(run, raisedBy) ??
        loweredLimitEnding(run) ??
        callLimitEnding(run, phase)
      if (ending !== undefined) return endWith(ending)
      return andThen(goalAfterTurn(run), (goalEnding) =>
        goalEnding === undefined
          ? proceed([...reminderRoutes(run, reminders, position), ...nextTurn], () => maxTurnsEnding(run))
          : endWith(goalEnding),
      )
    })
  })
}

const nextTurn: readonly Route[] = [continueWith('next_turn')]

/** The ending if a tool threw a stop, a hook stopped the run, or a call needs approval. */
function raisedStopEnding({ stops, pending, calls }: ToolPhase): PendingEnding | undefined {
  const thrown = stops.find((stop) => stop.origin === 'tool')
  if (thrown !== undefined) return pendingEndingOf(endingReasonOf(thrown.signal, 'tool'), thrown.signal)
  if (stops[0] !== undefined) return hookStopEnding(stops[0])
  return pending.length > 0 ? approvalEnding(pending, calls) : undefined
}

function raisedSignalEnding(run: Run, raisedBy: readonly string[]): PendingEnding | undefined {
  return run.signals.hasAny() ? signalEnding(run, raisedBy) : undefined
}

function hookStopEnding(stop: RaisedStop): PendingEnding {
  const reason = endingReasonOf(stop.signal, stop.origin)
  if (reason !== 'hook_stopped') return pendingEndingOf(reason, stop.signal)
  const closingEntry = {
    type: 'hook_stopped_continuation',
    hook: stop.hook ?? '',
    message: stop.signal.message,
    callId: stop.callId,
  } as const
  return pendingEndingOf(reason, stop.signal, { closingEntry })
}

function approvalEnding(pending: readonly PendingCall[], calls: ToolPhase['calls']): PendingEnding {
  const names = pending.map(({ call }) => call.name).join(', ')
  const signal = new StopSignal({
    reason: 'stop_requested',
    message: waitingForApproval(names),
    context: {
      pending: pending.map(({ call, message }) => ({
        id: call.id,
        name: call.name,
        message,
        // Includes the input only if a hook changed it. The transcript contains an unchanged input already.
        ...(!isUnchanged(call, calls) && { input: jsonObjectOf(call.input) }),
      })),
    },
    source: 'permissions',
  })
  return pendingEndingOf('needs_approval', signal)
}

function isUnchanged({ id, input }: ToolUseBlock, calls: readonly ToolUseBlock[]): boolean {
  const original = calls.find((call) => call.id === id)?.input
  return original === input || JSON.stringify(original) === JSON.stringify(input)
}
