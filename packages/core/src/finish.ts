import { usdOf } from './budget/prices.ts'
import { HaltingError, messageOf } from './errors.ts'
import type { Emit } from './events.ts'
import type { StopHookInput } from './hooks/stop-hooks.ts'
import { noUsage, type AssistantMessage } from './messages.ts'
import type { Ended, Ports } from './ports.ts'
import { entryId, type RunState } from './state.ts'
import { endings, type RunSummary, type Terminal } from './stop/terminal.ts'
import { activeMs, committedUsd } from './turn/drafts.ts'
import { closeOpenCalls } from './turn/close-calls.ts'
import { attach, say, sayUser } from './turn/flow.ts'
import type { Draft } from './turn/outcome.ts'
import { runHooks, withHookMessages } from './turn/run-hooks.ts'
import { stopHookInput } from './turn/settle.ts'

/** Ends the run: says what has to be said, and puts the one terminal on record. */
export async function finish(
  state: RunState,
  draft: Draft,
  ports: Ports,
  emit: Emit,
): Promise<Ended & { readonly kind: 'end' }> {
  const ended = await conclude(state, draft, ports, emit)
  await ports.steps.end(ended.terminal)
  emit({ type: 'run_end', terminal: ended.terminal })
  return { kind: 'end', ...ended }
}

/** What has to be said, results for calls that have none, the last hooks, and the terminal. */
export async function conclude(state: RunState, draft: Draft, ports: Ports, emit: Emit): Promise<Ended> {
  const closed = draft.reason === 'needs_approval' ? state : closeOpenCalls(state, emit)
  const said = sayEnding(closed, draft, ports, emit)
  const last = await lastHooks(said, draft, ports, emit)
  // A request to go on serves one decision, and that one is made.
  const hooked = { ...last, continuation: last.continuation.withContinuationRequested(false) }
  if (draft.reason === 'completed') startPostRun(hooked, ports, emit)
  return { terminal: terminalFor(hooked, draft), state: hooked }
}

function sayEnding(state: RunState, draft: Draft, ports: Ports, emit: Emit): RunState {
  const what = draft.say ?? wordsOf(state, draft, ports)
  if (what === undefined) return state
  if ('type' in what) return attach(state, what, emit)
  if ('interruption' in what) {
    const text =
      what.interruption === 'tools' ? '[Request interrupted by user for tool use]' : '[Request interrupted by user]'
    return sayUser(state, [{ type: 'text', text }], 'interruption', emit)
  }
  const id = entryId(state, 'error')
  return say(state, { kind: 'assistant', id, message: errorMessage(id, what.message), error: what.error }, emit)
}

/** What the table has said at an ending, whoever came to it: a guard's or a hook's signal brings no words of its own. */
function wordsOf({ spent }: RunState, { reason, signal }: Draft, { settings }: Ports): Draft['say'] {
  if (reason === 'error' || reason === 'model_error') return { error: 'unknown', message: signal.message || reason }
  if (reason !== 'max_turns') return undefined
  const { limit, turnCount } = signal.context
  return {
    type: 'max_turns_reached',
    maxTurns: typeof limit === 'number' ? limit : settings.maxTurns,
    turnCount: typeof turnCount === 'number' ? turnCount : spent.turns + 1,
  }
}

/** A message of our own that tells of a failure; the model never sees it. */
function errorMessage(id: string, text: string): AssistantMessage {
  return {
    role: 'assistant',
    id,
    model: '<synthetic>',
    content: [{ type: 'text', text }],
    stop_reason: 'stop_sequence',
    usage: noUsage,
  }
}

/** Failure hooks for a failure, then the hooks that see every end. What they raise is told, but changes no ending. */
async function lastHooks(state: RunState, draft: Draft, ports: Ports, emit: Emit): Promise<RunState> {
  let current = state
  if (endings[draft.reason].category === 'error') {
    const error = {
      source: draft.reason === 'error' ? 'run' : 'model',
      name: draft.reason,
      message: draft.signal.message,
    } as const
    const failure = await runHooks('onError', current, ports, emit, { error })
    current = withHookMessages(failure.state, failure.messages, emit)
  }
  const after = await runHooks('afterExecution', current, ports, emit)
  return withHookMessages(after.state, after.messages, emit)
}

function terminalFor(state: RunState, draft: Draft): Terminal {
  const { spent } = state
  const terminal: Terminal = {
    reason: draft.reason,
    signal: draft.signal,
    signals: state.continuation.stopSignals(),
    summary: summaryOf(state),
    costUsd: usdOf(spent.nanos),
    committedUsd: committedUsd(state),
    durationMs: activeMs(state),
    stillRunning: spent.stillRunning,
  }
  return draft.error === undefined ? terminal : { ...terminal, error: draft.error }
}

function summaryOf({ spent }: RunState): RunSummary {
  const modelUsage = Object.fromEntries(
    Object.entries(spent.modelUsage).map(([model, { usage, nanos }]) => [model, { usage, costUsd: usdOf(nanos) }]),
  )
  return {
    assistantMessages: spent.assistantMessages,
    toolResults: spent.toolResults,
    turns: spent.turns,
    requests: spent.requests,
    usage: spent.usage,
    modelUsage,
    compacted: spent.compactions > 0,
    apiMs: spent.apiMs,
  }
}

/** What belongs after a run is started and not waited for (spec R-END-9). */
function startPostRun(state: RunState, ports: Ports, emit: Emit): void {
  const last = state.transcript.lastReply(state.startLength)
  if (ports.postRun.length === 0 || last === undefined || ports.steps.replaying) return
  const input: StopHookInput = stopHookInput(state, last, ports)
  for (const task of ports.postRun) {
    const done = (error: string | null): void => emit({ type: 'background', name: task.name, error })
    try {
      task.start(input).then(
        () => done(null),
        (error: unknown) => done(messageOf(error)),
      )
    } catch (error) {
      done(messageOf(error))
    }
  }
}

/** What broke the run: a callback that threw, or the driver. */
export function brokenError(thrown: unknown): HaltingError {
  if (thrown instanceof HaltingError) return thrown
  return new HaltingError('callback', `The run broke: ${messageOf(thrown)}`, { cause: thrown })
}
