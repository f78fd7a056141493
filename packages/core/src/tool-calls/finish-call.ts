import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { textOf, type ToolUseBlock } from '../model/messages.ts'
import { StopSignal } from '../endings/signal.ts'
import { replacedResult, toolEndOf, withheld, type ToolResult } from '../tools/tool-result.ts'
import { stopRequestedSignal } from '../run/pending-endings.ts'
import { enterBill } from '../request/questions.ts'
import type { Run } from '../run/run.ts'
import type { RecordPosition, CallRun, PreparedCall, RaisedStop, ToolPhase } from '../run/tool-phase.ts'
import { isForbidden, policySignal, runToolHooks, type HookRun, type HookSubject } from '../request/run-hooks.ts'
import { isAgentTool } from '../tools/tool.ts'
import { noteFileWork, enterAgent, noteChanges } from '../run/enter-agent.ts'
import { lostReasons, type ReadCall, type Whole } from '../tools/result-texts.ts'
import type { AbortCause } from '../values/abort.ts'
import type { Settled } from '../values/settle.ts'
import { messageOf } from '../values/errors.ts'
import { fieldsOf } from '../values/validators.ts'
import { isJsonObject, jsonOf } from '../values/json.ts'
import type { SideEffectScope } from '../steps/step-engine.ts'
import { headOf } from '../values/text.ts'
import { largeResultLimit, type LargeResults } from '../tools/large-results.ts'
import { shortened, textLengthOf, wholeTextOf, withLocationOfWhole } from '../tools/shortened-result.ts'
import { currentModel } from '../request/current-model.ts'
import { windowOf } from '../request/window.ts'

/** Enters a call that ran, in call order: clock and figures, post-hooks, result, event, then the error policy. */
export function finishCall(run: Run, phase: ToolPhase, ran: CallRun): MaybePromise<undefined> {
  const { result } = ran
  const { call, index } = callOf(ran.call)
  enterRan(run, phase, ran)
  phase.noteAbort(result.abort)
  if (result.stop !== undefined) addStop(phase, ran, StopSignal.fromJSON(result.stop), 'tool', null)
  const subject = { toolCall: toolCallOf(ran.call, call), callIndex: index }
  return andThen(runPostHooks(run, phase, ran, subject), (finalResult) =>
    andThen(enterResult(run, phase, { call, index }, finalResult, positionOf(run, phase)), () => {
      emitEnd(run, phase, ran)
      return result.status === 'failed' ? afterFailure(run, phase, ran, subject, finalResult) : undefined
    }),
  )
}

/** The position of the call's end in the record: that of its batch, or of the turn. */
function positionOf(run: Run, phase: ToolPhase): RecordPosition {
  return phase.batchEnd === 'passed' ? 'passed' : run.turnEnd
}

/** Emits `tool_end`, once, with the result that the model receives. */
function emitEnd(run: Run, phase: ToolPhase, ran: CallRun): void {
  const { call, index } = callOf(ran.call)
  const result = phase.result(index)
  if (result === undefined || phase.report(ran)) return
  run.emit(toolEndOf(call, result, ran.durationMs))
}

/** Adds the duration and the figures of the call to the run. */
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

/** Whether the call may have changed something outside the run. True if it is not read-only and ran, regardless of its result. */
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

/** Whether `afterToolUse` hooks receive the result of a call of this tool before the model does. */
export function hasHooksAfter({ context }: Run, name: string, result: ToolResult): boolean {
  return hasRun(result) && context.hooks.for('afterToolUse', name).length > 0
}

/**
 * Enters the calls that had ended when the run broke, so that no figure is lost. A result that hooks had not inspected
 * yet is withheld from the model: a hook might have redacted it.
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
  // Charges of calls that did not end still count.
  for (const index of phase.calls.keys()) {
    const bill = phase.takeBill(index)
    if (bill !== undefined) enterBill(run, bill)
  }
}

function callOf(prepared: PreparedCall): { readonly call: ToolUseBlock; readonly index: number } {
  return prepared.kind === 'run' ? prepared.inspected : prepared
}

/** The call with its effective input: the model's, or one changed by a hook, a rule or the tool's own check. */
function toolCallOf(prepared: PreparedCall, call: ToolUseBlock): ToolUseBlock {
  return prepared.kind === 'run' && prepared.inspected.validatedInput !== call.input
    ? { ...call, input: prepared.inspected.validatedInput }
    : call
}

/** Returns the result after all hooks have changed it. */
function runPostHooks(run: Run, phase: ToolPhase, ran: CallRun, subject: HookSubject): MaybePromise<ToolResult> {
  const { result } = ran
  const { call } = callOf(ran.call)
  if (!hasHooksAfter(run, call.name, result)) return shownResult(run, phase, ran, result)
  const toolOutput = { text: textOf(result.content), isError: result.isError, durationMs: ran.durationMs }
  return andThen(runToolHooks(run, 'afterToolUse', { ...subject, toolOutput }, positionOf(run, phase)), (hooks) => {
    const finalResult = resultAfter(hooks, result)
    enterHooks(phase, ran, hooks, 'post_tool_hook')
    for (const { hook, outcome } of hooks.outcomes) {
      if (outcome.prevented === undefined) continue
      addStop(phase, ran, stopRequestedSignal(hook, outcome.prevented), 'post_tool_hook', hook)
    }
    return finalResult === result ? shownResult(run, phase, ran, finalResult) : finalResult
  })
}

// Spec R-HOOK-17b.
/** The result of a call whose record does not contain it, recorded once every hook has processed it. Replacements by hooks are recorded with the hooks. */
function shownResult(run: Run, phase: ToolPhase, ran: CallRun, result: ToolResult): MaybePromise<ToolResult> {
  if (result.unseen !== true) return result
  const { call, index } = callOf(ran.call)
  const name = `shown:${run.spent.request}:${index}:${call.id}`
  if (positionOf(run, phase) === 'passed' && !run.isRecorded(name)) return result
  return andThen(
    run.step<ToolResult>(name, () => result),
    ({ value }) => value,
  )
}

/** The result after the hooks. If an abort arrived before all of them inspected it, it is unknown what they would have removed. */
function resultAfter({ aborted, outcomes }: HookRun, result: ToolResult): ToolResult {
  if (aborted !== undefined) return withheld(result, 'aborted')
  const replaced = outcomes.findLast(({ outcome }) => outcome.output !== undefined)?.outcome.output
  return replaced === undefined ? result : replacedResult(result, replaced)
}

/** `left`: the result after the hooks. Content that they removed must not appear in any report. */
function afterFailure(
  run: Run,
  phase: ToolPhase,
  ran: CallRun,
  subject: HookSubject,
  finalResult: ToolResult,
): MaybePromise<undefined> {
  const { name } = callOf(ran.call).call
  const message = finalResult.error ?? textOf(finalResult.content)
  const error = { source: 'tool', name, message } as const
  return andThen(runToolHooks(run, 'onError', { ...subject, error }, positionOf(run, phase)), (hooks) => {
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

interface CallPlace {
  readonly call: ToolUseBlock
  /** Position in the message. */
  readonly index: number
}

/** The recorded outcome of storing a result, with all values that its shortened form depends on in addition to the text. */
type SaveRecord = {
  readonly limit: number
  readonly whole: Whole
  /** It was not stored because the run was aborted. */
  readonly aborted?: AbortCause
}

// Spec R-TOOL-18.
/**
 * Enters a result after the hooks. A result that exceeds the limit is passed to `largeResults` in a separate step, and
 * entered with head, tail and the location of the full text. A recorded step applies regardless of the current limit. A
 * `passed` call without that step was shown in full.
 */
function enterResult(
  run: Run,
  phase: ToolPhase,
  { call, index }: CallPlace,
  result: ToolResult,
  position: RecordPosition,
): MaybePromise<undefined> {
  const name = `save:${run.spent.request}:${index}:${call.id}`
  const { largeResults } = run.context
  const limit = largeResultLimitOf(run)
  const isOnRecord = run.ports.steps.peek(run.key(name)) === 'done'
  const isOver = limit !== undefined && (result.spooled !== undefined || textLengthOf(result.content) > limit)
  const isDue = isOver && position === 'open'
  if (!isOnRecord && !isDue) {
    phase.setResult(index, result)
    return undefined
  }
  // This result is entered if the run breaks before the step is done.
  phase.setShortened(index, unsavedResult(run, result, lostReasons.failed), result)
  const step = run.step<SaveRecord>(name, (scope) =>
    largeResults === null || limit === undefined
      ? { limit: Number.MAX_SAFE_INTEGER, whole: { lostBecause: lostReasons.noStore } }
      : save(run, largeResults, { call, text: wholeTextOf(result.content), spooled: result.spooled, limit }, scope),
  )
  return andThen(step, ({ value }) => {
    phase.setShortened(index, shortenedResult(result, value.limit, value.whole), result)
    phase.noteAbort(value.aborted)
    return undefined
  })
}

/** A result for which `save` can no longer be called: the part that exceeds the limit is lost. */
export function unsavedResult(run: Run, result: ToolResult, lostBecause: string): ToolResult {
  const limit = largeResultLimitOf(run)
  return limit === undefined ? result : shortenedResult(result, limit, { lostBecause })
}

function largeResultLimitOf(run: Run): number | undefined {
  const { largeResults } = run.context
  return largeResults === null ? undefined : (largeResults.limit ?? largeResultLimit(windowOf(run, currentModel(run))))
}

function shortenedResult(result: ToolResult, limit: number, whole: Whole): ToolResult {
  const { spooled, ...visibleResult } = result
  if (spooled === undefined) {
    const content = shortened(result.content, limit, whole)
    return content === result.content ? result : { ...result, content }
  }
  if (textLengthOf(result.content) <= limit)
    return { ...visibleResult, content: withLocationOfWhole(result.content, whole) }
  return {
    ...visibleResult,
    content: shortened(result.content, limit, 'savedAs' in whole ? { ...whole, isMore: true } : whole),
  }
}

interface Saved {
  readonly call: ToolUseBlock
  readonly text: string
  readonly spooled: string | undefined
  readonly limit: number
}

/** The side effect of the step. After an abort nothing is stored. */
function save(
  run: Run,
  largeResults: LargeResults,
  { call, text, spooled, limit }: Saved,
  { signal, idempotencyKey }: SideEffectScope,
): MaybePromise<SaveRecord> {
  const { abort } = run.ports
  const lost = (lostBecause: string): SaveRecord => ({ limit, whole: { lostBecause } })
  const cut = (aborted: AbortCause): SaveRecord => ({ ...lost(lostReasons.aborted), aborted })
  const cause = abort.causeNow()
  if (cause !== undefined) return cut(cause)
  const about = { callId: call.id, toolName: call.name, text, idempotencyKey }
  const result = spooled === undefined ? about : { ...about, spooled }
  return run.withGrace(
    () => largeResults.save(result, { signal }),
    (settled: Settled<unknown>) => {
      switch (settled.kind) {
        case 'left':
          return cut(settled.cause)
        case 'threw':
          return abort.cause === undefined ? lost(lossReasonOf(settled.error)) : cut(abort.cause)
        case 'value':
          return isStoredName(settled.value)
            ? { limit, whole: { savedAs: settled.value, ...readCallOf(run, largeResults, settled.value) } }
            : lost(lostReasons.noName)
      }
    },
  )
}

const longestName = 4_096
const longestReason = 300

/** JavaScript code may return anything. */
function isStoredName(candidate: unknown): candidate is string {
  return typeof candidate === 'string' && candidate !== '' && candidate.length <= longestName
}

/**
 * The call that reads the stored result. It is recorded, so that the result is shown the same way later. Undefined if
 * the model does not have that tool.
 */
function readCallOf({ context }: Run, largeResults: LargeResults, name: string): { readonly readCall?: ReadCall } {
  try {
    const { tool, input, lineField } = fieldsOf(largeResults.readCall?.(name)) ?? {}
    if (typeof tool !== 'string' || tool === '' || tool.length > longestName) return {}
    if (!context.toolDefinitions.some((definition) => definition.name === tool)) return {}
    const fields = jsonOf(input)
    if (!isJsonObject(fields) || JSON.stringify(fields).length > longestName) return {}
    return { readCall: { tool, input: fields, ...(typeof lineField === 'string' && { lineField }) } }
  } catch {
    return {}
  }
}

function lossReasonOf(error: unknown): string {
  const reason = messageOf(error)
    .replaceAll(/\s+/g, ' ')
    .replace(/[. ]+$/, '')
  return reason === '' ? lostReasons.unknown : headOf(reason, longestReason)
}
