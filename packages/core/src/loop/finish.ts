import { usdOf } from '../model/prices.ts'
import { HaltingError, isInstance, messageOf } from '../values/errors.ts'
import type { StopHookInput } from '../hooks/stop-hooks.ts'
import { isJsonObject } from '../values/json.ts'
import { noUsage, type AssistantMessage } from '../model/messages.ts'
import type { FinishedRun } from '../run/run-context.ts'
import type { RunState } from '../state/state.ts'
import { StopSignal } from '../endings/signal.ts'
import { endings } from '../endings/table.ts'
import type { RunSummary, RunResult } from '../endings/run-result.ts'
import { stopHookInput } from './after-answer.ts'
import { closeBrokenCalls, closeOpenCalls } from '../tool-calls/close-calls.ts'
import { goalResultOf } from './goals.ts'
import { hookFigures } from '../run/limit-use.ts'
import { chargeOrphanedRequests } from './orphaned-requests.ts'
import { pendingEndingOf, type PendingEnding } from '../run/outcome.ts'
import { verificationResult } from './verify.ts'
import type { Verified } from '../verification/progress.ts'
import { type Run, activeMs, committedUsd } from '../run/run.ts'
import { addHookMessages, noSubject, runHooks, type HookSubject } from '../request/run-hooks.ts'
import { leaveBrokenTasks, leaveTasks } from '../run/tasks.ts'
import { interruptedReply, interruptedTools } from '../run/turn-texts.ts'
import { runFailed } from '../endings/ending-texts.ts'

/** Ends the run: appends the closing messages and records the run result. */
export async function finish(run: Run, pendingEnding: PendingEnding): Promise<FinishedRun> {
  const ended = await conclude(run, pendingEnding, 'with_hooks')
  await run.ports.steps.end(run.endRecord(ended.terminal))
  run.emit({ type: 'run_end', terminal: ended.terminal })
  return ended
}

/** Ends a run that broke. The run still gets exactly one run result, and every call gets a result. No callback is called, since it could fail again. */
export async function finishBroken(run: Run, thrown: unknown): Promise<FinishedRun> {
  const error = brokenError(thrown)
  const { code, message } = error
  const signal = new StopSignal({ reason: 'error', message, context: { code }, source: 'run' })
  const pendingEnding = pendingEndingOf('error', signal, { closingEntry: { error: 'unknown', message }, error })
  await run.staging?.abandon()
  run.setContinuation(run.continuation.withNewStopSignal(signal))
  closeBrokenCalls(run)
  await leaveBrokenTasks(run)
  const isClosed = !leavesRecordOpen(error)
  if (isClosed) await Promise.resolve(chargeOrphanedRequests(run)).catch(() => {})
  const ended = await conclude(run, pendingEnding, 'alone')
  // A step engine that failed cannot record the ending. The caller still receives it.
  if (isClosed) await run.ports.steps.end(run.endRecord(ended.terminal)).catch(() => {})
  run.emit({ type: 'run_end', terminal: ended.terminal })
  return ended
}

/** Whether the record stays open for a program that can continue it: it belongs to a different prompt or call, or waits for a person. */
function leavesRecordOpen({ code, details }: HaltingError): boolean {
  if (code === 'step_mismatch') return true
  return code === 'stalled' && isJsonObject(details) && details['waitsForPerson'] === true
}

/** Appends the closing messages and the missing results, runs the last hooks, and builds the run result. `alone`: no callback is called. */
async function conclude(run: Run, pendingEnding: PendingEnding, how: 'with_hooks' | 'alone'): Promise<FinishedRun> {
  if (pendingEnding.reason !== 'needs_approval') closeOpenCalls(run)
  appendClosingEntry(run, pendingEnding)
  if (how === 'with_hooks') {
    await runLastHooks(run, pendingEnding)
    await leaveTasks(run, pendingEnding)
    await chargeOrphanedRequests(run)
  }
  // A request to continue applies to one decision only. That decision has been made, so the request is removed.
  run.setContinuation(run.continuation.withContinuationRequested(false))
  if (pendingEnding.reason === 'completed') startPostRun(run)
  const { state } = run
  return { terminal: runResultFor(state, pendingEnding, verificationResult(run)), state }
}

function appendClosingEntry(run: Run, pendingEnding: PendingEnding): void {
  const closingEntry = pendingEnding.closingEntry ?? defaultClosingEntry(run, pendingEnding)
  if (closingEntry === undefined) return
  if ('type' in closingEntry) return run.attach(closingEntry)
  if ('interruption' in closingEntry) {
    const text = closingEntry.interruption === 'tools' ? interruptedTools : interruptedReply
    return run.appendUser([{ type: 'text', text }], 'interruption')
  }
  const id = run.entryId('error')
  run.append({ kind: 'assistant', id, message: errorMessage(id, closingEntry.message), error: closingEntry.error })
}

/** The transcript entry that the table defines for this ending, whatever raised it. Signals of guards and hooks define no entry of their own. */
function defaultClosingEntry(
  { spent, context }: Run,
  { reason, signal }: PendingEnding,
): PendingEnding['closingEntry'] {
  switch (endings[reason].transcriptSays) {
    case 'nothing':
      return undefined
    case 'failure':
      return { error: 'unknown', message: signal.message || reason }
    case 'max_turns_reached': {
      const { limit, turnCount } = signal.context
      return {
        type: 'max_turns_reached',
        maxTurns: typeof limit === 'number' ? limit : context.settings.maxTurns,
        turnCount: typeof turnCount === 'number' ? turnCount : spent.turns + 1,
      }
    }
  }
}

/** A synthetic message that reports a failure. The model never sees it. */
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

/** Runs the failure hooks for a failure, then the hooks that see every ending. Signals that they raise are reported, but do not change the ending. */
async function runLastHooks(run: Run, pendingEnding: PendingEnding): Promise<void> {
  // Uses the recorded signal, since a resumed run does not receive the abort again.
  const subject: HookSubject = pendingEnding.signal.source === 'abort' ? { isAfterAbort: true } : noSubject
  const { category, announcement } = endings[pendingEnding.reason]
  if (category === 'error') {
    // An empty answer is not a failure of the model.
    const source = pendingEnding.reason === 'error' || announcement === 'unanswered' ? 'run' : 'model'
    const error = { source, name: pendingEnding.reason, message: pendingEnding.signal.message } as const
    const failure = await runHooks(run, 'onError', { error, ...subject })
    addHookMessages(run, failure.messages)
  }
  const last = await runHooks(run, 'afterExecution', subject)
  addHookMessages(run, last.messages)
}

function runResultFor(state: RunState, pendingEnding: PendingEnding, verified: Verified | undefined): RunResult {
  const { spent } = state
  const terminal: RunResult = {
    reason: pendingEnding.reason,
    signal: pendingEnding.signal,
    signals: state.continuation.stopSignals(),
    summary: summaryOf(state),
    costUsd: usdOf(spent.nanos),
    committedUsd: committedUsd(spent),
    totalTokens: spent.totalTokens,
    durationMs: activeMs(spent),
    stillRunning: spent.stillRunning,
    ...retryAtOf(pendingEnding),
    ...goalOf(state, pendingEnding),
    ...(verified !== undefined && { verified }),
  }
  return pendingEnding.error === undefined ? terminal : { ...terminal, error: pendingEnding.error }
}

function retryAtOf({ reason, signal }: PendingEnding): Pick<RunResult, 'retryAt'> {
  const { retryAt } = signal.context
  return reason === 'model_error' && typeof retryAt === 'string' ? { retryAt } : {}
}

function goalOf(state: RunState, pendingEnding: PendingEnding): Pick<RunResult, 'goal'> {
  const goal = goalResultOf(state, pendingEnding)
  return goal === undefined ? {} : { goal }
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

// Spec R-END-9.
/** Starts the tasks after the run without waiting for them. */
function startPostRun(run: Run): void {
  const { postRun } = run.context
  const last = run.transcript.lastReply(run.startLength)
  if (postRun.length === 0 || last === undefined || run.ports.steps.replaying) return
  const input: StopHookInput = stopHookInput(run, last, hookFigures(run))
  for (const task of postRun) {
    const done = (error: string | null): void => run.emit({ type: 'background', name: task.name, error })
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

/** The error that broke the run: a callback that threw, or the step engine. */
function brokenError(thrown: unknown): HaltingError {
  if (isInstance(thrown, HaltingError)) return thrown
  return new HaltingError('callback', runFailed(messageOf(thrown)), { cause: thrown })
}
