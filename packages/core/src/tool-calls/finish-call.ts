import { after, type Eventually } from '../values/eventually.ts'
import { textOf, type ToolUseBlock } from '../model/messages.ts'
import { StopSignal } from '../endings/signal.ts'
import { replacedResult, toolEndOf, withheld, type ToolResult } from '../tools/tool-result.ts'
import { stopRequestedSignal } from '../run/pending-endings.ts'
import { enterBill } from '../request/questions.ts'
import type { RecordPosition } from '../run/record-position.ts'
import type { Run } from '../run/run.ts'
import { isForbidden, policySignal, runToolHooks, type HookRun, type HookSubject } from '../request/run-hooks.ts'
import type { CallRun, PreparedCall } from '../run/call.ts'
import { isAgentTool } from '../tools/tool.ts'
import { noteFileWork, enterAgent, noteChanges } from '../run/enter-agent.ts'
import { enterResult, unsavedResult } from './save-result.ts'
import type { RaisedStop, ToolPhase } from '../run/tool-phase.ts'
import { lostReasons } from '../tools/result-texts.ts'

/** Enters a call that ran, in call order: clock and figures, post-hooks, what it shows, its event, then the error policy. */
export function finishCall(run: Run, phase: ToolPhase, ran: CallRun): Eventually<undefined> {
  const { result } = ran
  const { call, index } = callOf(ran.call)
  enterRan(run, phase, ran)
  phase.noteAbort(result.abort)
  if (result.stop !== undefined) addStop(phase, ran, StopSignal.fromJSON(result.stop), 'tool', null)
  const subject = { toolCall: toolCallOf(ran.call, call), callIndex: index }
  return after(runPostHooks(run, phase, ran, subject), (left) =>
    after(enterResult(run, phase, { call, index }, left, positionOf(run, phase)), () => {
      emitEnd(run, phase, ran)
      return result.status === 'failed' ? afterFailure(run, phase, ran, subject, left) : undefined
    }),
  )
}

/** Where the end of the call lies: with that of its batch, or of the turn. */
function positionOf(run: Run, phase: ToolPhase): RecordPosition {
  return phase.batchEnd === 'passed' ? 'passed' : run.turnEnd
}

/** Emits `tool_end`, once, with the result that the model is shown. */
function emitEnd(run: Run, phase: ToolPhase, ran: CallRun): void {
  const { call, index } = callOf(ran.call)
  const result = phase.result(index)
  if (result === undefined || phase.report(ran)) return
  run.emit(toolEndOf(call, result, ran.durationMs))
}

/** Enters the clock and the figures. */
function enterRan(run: Run, phase: ToolPhase, ran: CallRun): void {
  phase.entering = ran
  const { call, index } = callOf(ran.call)
  run.advanceClock(ran)
  const bill = phase.takeBill(index)
  if (bill !== undefined) enterBill(run, bill)
  const { changed = 0 } = run.spent.verification ?? {}
  if (ran.agent !== undefined)
    enterAgent(run, { spent: ran.agent.spent, callId: call.id, changedAtStart: ran.changedAtStart ?? changed })
  else if (mayHaveChanged(ran)) noteChanges(run, 1, call.id)
  const { agent, fileWork } = ran.result
  if (fileWork !== undefined) noteFileWork(run, fileWork)
  if (agent !== undefined)
    run.update({
      openAgents: [...(run.spent.openAgents ?? []), { ...agent, ...(changed > 0 && { changedLines: changed }) }],
    })
}

/** Whether the call may have changed something outside: one that is not read-only, whatever it came to, unless it did not run. */
function mayHaveChanged({ call, result }: CallRun): boolean {
  if (call.kind !== 'run' || call.inspected.readOnly) return false
  const { tool } = call.inspected
  switch (result.status) {
    case 'done':
    case 'interrupted':
    case 'unknown':
      return true
    case 'failed':
      return isAgentTool(tool) || tool.failsUnchanged !== true
    case 'invalid':
    case 'denied':
    case 'not_run':
      return false
  }
}

function hasRun({ status }: ToolResult): boolean {
  return status === 'done' || status === 'failed'
}

/** Whether `afterToolUse` hooks see the result of a call of this tool before the model does. */
export function hasHooksAfter({ context }: Run, name: string, result: ToolResult): boolean {
  return hasRun(result) && context.hooks.for('afterToolUse', name).length > 0
}

/**
 * The run broke. Calls that had ended are entered, so that no figure is lost. A result that hooks had not seen yet is withheld from the
 * model: a hook might have redacted it.
 */
export function enterEnded(run: Run, phase: ToolPhase): void {
  for (const ran of phase.ran) {
    const { call, index } = callOf(ran.call)
    if (phase.result(index) === undefined) {
      if (phase.entering !== ran) enterRan(run, phase, ran)
      const result = hasHooksAfter(run, call.name, ran.result) ? withheld(ran.result, 'failed') : ran.result
      phase.setResult(index, unsavedResult(run, result, lostReasons.failed))
    }
    emitEnd(run, phase, ran)
  }
  // What calls paid that did not end is paid.
  for (const index of phase.calls.keys()) {
    const bill = phase.takeBill(index)
    if (bill !== undefined) enterBill(run, bill)
  }
}

function callOf(prepared: PreparedCall): { readonly call: ToolUseBlock; readonly index: number } {
  return prepared.kind === 'run' ? prepared.inspected : prepared
}

/** The call with the input that it ran with: the model's, or what a hook, a rule or the tool's own check put in its place. */
function toolCallOf(prepared: PreparedCall, call: ToolUseBlock): ToolUseBlock {
  return prepared.kind === 'run' && prepared.inspected.taken !== call.input
    ? { ...call, input: prepared.inspected.taken }
    : call
}

/** Gives the result as the hooks left it. */
function runPostHooks(run: Run, phase: ToolPhase, ran: CallRun, subject: HookSubject): Eventually<ToolResult> {
  const { result } = ran
  const { call } = callOf(ran.call)
  if (!hasHooksAfter(run, call.name, result)) return shownResult(run, phase, ran, result)
  const toolOutput = { text: textOf(result.content), isError: result.isError, durationMs: ran.durationMs }
  return after(runToolHooks(run, 'afterToolUse', { ...subject, toolOutput }, positionOf(run, phase)), (hooks) => {
    const left = resultAfter(hooks, result)
    enterHooks(phase, ran, hooks, 'post_tool_hook')
    for (const { hook, outcome } of hooks.outcomes) {
      if (outcome.prevented === undefined) continue
      addStop(phase, ran, stopRequestedSignal(hook, outcome.prevented), 'post_tool_hook', hook)
    }
    return left === result ? shownResult(run, phase, ran, left) : left
  })
}

// Spec R-HOOK-17b.
/**
 * The result of a call whose record does not have it, once every hook has let it pass: on record from now on. What hooks put in its
 * place is on record with them.
 */
function shownResult(run: Run, phase: ToolPhase, ran: CallRun, result: ToolResult): Eventually<ToolResult> {
  if (result.unseen !== true) return result
  const { call, index } = callOf(ran.call)
  const name = `shown:${run.spent.request}:${index}:${call.id}`
  if (positionOf(run, phase) === 'passed' && !run.isRecorded(name)) return result
  return after(
    run.step<ToolResult>(name, () => result),
    ({ value }) => value,
  )
}

/** The result as the hooks left it. Where an abort came before all of them had seen it, nobody knows what they would have taken out of it. */
function resultAfter({ aborted, outcomes }: HookRun, result: ToolResult): ToolResult {
  if (aborted !== undefined) return withheld(result, 'aborted')
  const replaced = outcomes.findLast(({ outcome }) => outcome.output !== undefined)?.outcome.output
  return replaced === undefined ? result : replacedResult(result, replaced)
}

/** `left`: the result as the hooks left it. What they took out of it is told to nobody. */
function afterFailure(
  run: Run,
  phase: ToolPhase,
  ran: CallRun,
  subject: HookSubject,
  left: ToolResult,
): Eventually<undefined> {
  const { name } = callOf(ran.call).call
  const message = left.error ?? textOf(left.content)
  const error = { source: 'tool', name, message } as const
  return after(runToolHooks(run, 'onError', { ...subject, error }, positionOf(run, phase)), (hooks) => {
    enterHooks(phase, ran, hooks, 'hook')
    if (positionOf(run, phase) === 'open' && isForbidden(run, error))
      addStop(phase, ran, policySignal('tool', name, message), 'hook', null)
    return undefined
  })
}

/** Enters messages, signals and aborts of the hooks on this call. */
function enterHooks(phase: ToolPhase, ran: CallRun, hooks: HookRun, origin: RaisedStop['origin']): void {
  phase.addMessages(hooks.messages)
  phase.noteAbort(hooks.aborted)
  for (const { hook, signal } of hooks.raised) addStop(phase, ran, signal, origin, hook)
}

function addStop(
  phase: ToolPhase,
  ran: CallRun,
  signal: StopSignal,
  origin: RaisedStop['origin'],
  hook: string | null,
): void {
  const { call, index } = callOf(ran.call)
  phase.addStop({ index, signal, origin, hook, callId: call.id })
}
