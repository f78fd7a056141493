import { checkTokenBudget, diminishingThreshold } from '../budget/token-target.ts'
import { settleWithin, type Settled } from '../cancel/settle.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { StopHookInput, StopHookOutcome } from '../hooks/stop-hooks.ts'
import { textOf, type AssistantMessage } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { guardsAt, inboxAt } from './checkpoint.ts'
import { abortDraft, maxTurnsDraft } from './drafts.ts'
import { attach, sayUser } from './flow.ts'
import { keyOf } from './keys.ts'
import { draftOf, ends, goesOn, type Outcome } from './outcome.ts'
import { standingDraft } from './prepare.ts'

/** No tool calls: finish-reason guard → follow-ups → structured output → stop hooks → token target → completed. */
export async function settle(state: RunState, message: AssistantMessage, ports: Ports, emit: Emit): Promise<Outcome> {
  const guarded = guardsAt('after_reply', state, ports, emit)
  if (guarded.state.continuation.stopSignals().hasAny())
    return ends(guarded.state, standingDraft(guarded.state, guarded.raisedBy))

  const asked = await inboxAt('end', guarded.state, ports, emit)
  if (asked !== undefined)
    return goesOn(asked, [{ transition: 'user_input', take: (from) => from }], () => maxTurnsDraft(asked, ports))

  const misfit = misfitOf(textOf(message.content), ports)
  if (misfit !== undefined) return retryOutput(guarded.state, misfit, emit)

  const hooked = await stopHookStage(guarded.state, message, ports, emit)
  return hooked.kind === 'outcome' ? hooked : tokenTarget(hooked.state, ports, emit)
}

function misfitOf(answer: string, ports: Ports): string | undefined {
  const checked = ports.settings.output?.check(answer)
  return checked === undefined || checked.fits ? undefined : checked.message
}

function retryOutput(state: RunState, problem: string, emit: Emit): Outcome {
  const signal = new StopSignal({
    reason: 'retry_limit',
    message: `The answer does not fit the output schema: ${problem}`,
    context: { problem },
    source: 'structured_output',
  })
  const text = `Your answer does not fit the required schema: ${problem}. Answer again with nothing but JSON that fits it.`
  return goesOn(
    state,
    [{ transition: 'structured_output_retry', take: (from) => sayUser(from, text, 'loop', emit) }],
    () => draftOf('structured_output_retry_exhausted', signal),
  )
}

/** Runs the stop hooks: block → prevent → pass (spec R-SHOOK-1, R-SHOOK-2). */
async function stopHookStage(
  state: RunState,
  message: AssistantMessage,
  ports: Ports,
  emit: Emit,
): Promise<Outcome | { readonly kind: 'passed'; readonly state: RunState }> {
  let current = state
  const blocks: string[] = []
  let prevented: { readonly hook: string; readonly reason: string } | undefined
  for (const hook of ports.stopHooks) {
    emit({ type: 'hook_start', hook: hook.id, trigger: 'stopHook', callId: null })
    const step = await ports.steps.run<StopHookOutcome>(
      keyOf(current, `hook:stopHook:${current.spent.request}::${hook.id}`),
      async () => {
        if (ports.abort.cause !== undefined) return { aborted: ports.abort.cause }
        const input = stopHookInput(current, message, ports)
        const work = async () => (await hook.handle(input)) ?? {}
        return settleWithin(work, ports.abort, ports.settings.graceMs, ports.timers, outcomeOf)
      },
      { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
    )
    const outcome = step.value
    current = at(current, step)
    emit({ type: 'hook_end', hook: hook.id, trigger: 'stopHook', callId: null, outcome, durationMs: step.durationMs })
    if (outcome.aborted !== undefined) return ends(current, abortDraft(outcome.aborted, 'streaming', current, ports))
    if (outcome.systemMessage !== undefined)
      current = attach(current, { type: 'informational', message: outcome.systemMessage }, emit)
    // An empty reason does not block: there would be nothing to tell the model.
    if (typeof outcome.block === 'string' && outcome.block.trim() !== '') blocks.push(outcome.block)
    if (outcome.prevent !== undefined) prevented ??= { hook: hook.id, reason: outcome.prevent }
  }
  if (blocks.length > 0) return sendBack(current, blocks, ports, emit)
  if (prevented === undefined) return { kind: 'passed', state: current }
  const { hook, reason } = prevented
  const signal = new StopSignal({
    reason: 'stop_requested',
    message: reason || `Stopped by ${hook}`,
    context: { hook },
    source: hook,
  })
  return ends(current, draftOf('stop_hook_prevented', signal))
}

function outcomeOf(settled: Settled<StopHookOutcome>): StopHookOutcome {
  if (settled.kind === 'value') return settled.value
  return settled.kind === 'threw' ? { error: messageOf(settled.error) } : { aborted: settled.cause }
}

export function stopHookInput(state: RunState, message: AssistantMessage, ports: Ports): StopHookInput {
  const { run, transcript, startLength } = state
  const { system, userContext, systemContext, querySource } = ports.settings
  const assistantMessages = transcript
    .since(startLength)
    .flatMap((entry) => (entry.kind === 'assistant' && entry.error === undefined ? [entry.message] : []))
  return {
    messagesForQuery: transcript.messages(),
    assistantMessages: assistantMessages.length > 0 ? assistantMessages : [message],
    systemPrompt: system,
    userContext,
    systemContext,
    toolUseContext: {
      sessionId: run.sessionId,
      runId: run.runId,
      agentId: run.agentId ?? null,
      signal: ports.abort.signal,
    },
    querySource,
    stopHookActive: state.spent.stopHookActive,
  }
}

function sendBack(state: RunState, reasons: readonly string[], ports: Ports, emit: Emit): Outcome {
  const cap = ports.settings.stopHookBlockCap
  const taken = state.spent.laps.sinceRefill.stop_hook_blocking ?? 0
  const overruled = `A stop hook sent the model back ${taken} times in a row; it was overruled and the run ends here.`
  return goesOn(
    state,
    [
      {
        transition: 'stop_hook_blocking',
        take(from) {
          if (taken >= cap) return undefined
          let next = from
          for (const reason of reasons) next = sayUser(next, `Stop hook feedback: ${reason}`, 'hook', emit)
          return withSpent(next, { stopHookActive: true })
        },
      },
    ],
    () => draftOf('completed', completedSignal(overruled), { say: { type: 'informational', message: overruled } }),
  )
}

function completedSignal(message = 'The model gave its answer'): StopSignal {
  return new StopSignal({ reason: 'completed', message, source: 'loop' })
}

/** Below 90 % of the token target, and gaining, the answer is sent back for more (spec R-GATE-2). */
function tokenTarget(state: RunState, ports: Ports, emit: Emit): Outcome {
  const { spent, run } = state
  const { decision, tracker } = checkTokenBudget({
    tracker: spent.tracker,
    agentId: run.agentId,
    budget: ports.settings.tokenBudget,
    globalTurnTokens: spent.usage.output_tokens,
    now: spent.now,
  })
  const completed = draftOf('completed', completedSignal())
  if (decision.action === 'stop') {
    if (decision.completionEvent !== null) emit({ type: 'token_budget', completion: decision.completionEvent })
    return ends(state, completed)
  }
  const nudge = decision.nudgeMessage
  return goesOn(
    state,
    [
      {
        transition: 'token_budget_continuation',
        gained: tracker.lastDeltaTokens >= diminishingThreshold,
        take: (from) => withSpent(sayUser(from, nudge, 'loop', emit), { tracker }),
      },
    ],
    () => completed,
  )
}
