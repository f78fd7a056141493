import { type TaskNote, taskNewsOf } from '../verification/background.ts'
import type { RunEvent, ToolStatus } from '../state/events.ts'
import { type Json, jsonOf } from '../values/json.ts'
import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../model/messages.ts'
import type { OpenAgent } from '../state/state.ts'
import { type StopSignalJson, StopSignal } from '../endings/signal.ts'
import type { AbortCause } from '../values/abort.ts'
import { type FileWork, fileWorkOf } from '../verification/file-work.ts'
import {
  interrupted,
  interruptedStillRunning,
  notRunText,
  silentFailure,
  unknownOutcomeText,
  withheldText,
  noOutputText,
  toolStoppedRun,
} from './result-texts.ts'
import { plainTextOf, resultContentOf } from '../model/content.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { AgentStopException } from '../endings/stop-exception.ts'

/** The outcome of a call, as recorded. Every call has exactly one, from its tool or synthetic. */
export type ToolResult = {
  readonly status: ToolStatus
  readonly content: string | readonly ContentBlock[]
  readonly isError: boolean
  readonly details?: Json
  /** Data that later calls of the tool need. */
  readonly memo?: Json
  /** Location of the full text, for `LargeResults.save`. */
  readonly spooled?: string
  /** Background tasks that it started, and reports about their ends. */
  readonly tasks?: readonly TaskNote[]
  /** Its work on files. */
  readonly fileWork?: FileWork
  /** The subagent that it started in the background. */
  readonly agent?: OpenAgent
  /** The signal, if the tool threw `AgentStopException`. */
  readonly stop?: StopSignalJson
  /** The cause, if an abort interrupted the call. */
  readonly abort?: AbortCause
  /** Whether the call ignored the abort and was left running. */
  readonly stillRunning?: true
  /** The text of the thrown error. */
  readonly error?: string
  // Spec R-HOOK-17a.
  /** Whether the record contains no result, because a hook may have to redact the result first. */
  readonly unseen?: true
}

export function resultBlock(callId: string, result: ToolResult): ToolResultBlock {
  const { content, isError } = result
  // The API refuses an empty result that is marked as an error.
  const shownContent = content.length === 0 && isError ? silentFailure : content
  return isError
    ? { type: 'tool_result', tool_use_id: callId, content: shownContent, is_error: true }
    : { type: 'tool_result', tool_use_id: callId, content: shownContent }
}

/** The event of a call that has its result. */
export function toolEndOf(
  { id, name }: Pick<ToolUseBlock, 'id' | 'name'>,
  result: ToolResult,
  durationMs: number,
): Extract<RunEvent, { readonly type: 'tool_end' }> {
  const { status, isError } = result
  return { type: 'tool_end', callId: id, name, status, durationMs, output: resultBlock(id, result).content, isError }
}

// Synthetic results: what the model gets for a call that did not finish.

/** `settled`: it ended, or never began. `still_running`: it ignored the abort and was left running. */
export function abortedResult(abort: AbortCause, how: 'settled' | 'still_running'): ToolResult {
  if (how === 'settled') return { status: 'interrupted', content: interrupted, isError: true, abort }
  return { status: 'interrupted', content: interruptedStillRunning, isError: true, abort, stillRunning: true }
}

export function notRun(why: string): ToolResult {
  return { status: 'not_run', content: notRunText(why), isError: true }
}

export function invalidCallResult(message: string): ToolResult {
  return { status: 'invalid', content: message, isError: true }
}

export function denied(message: string): ToolResult {
  return { status: 'denied', content: message, isError: true }
}

/** The call ended, but its result is withheld: the run broke, was aborted or lost its process before the inspecting hooks saw the result. */
export function withheld(
  { status, isError, tasks, agent, fileWork }: ToolResult,
  how: Parameters<typeof withheldText>[0],
): ToolResult {
  return {
    status,
    content: withheldText(how),
    isError,
    ...(tasks !== undefined && { tasks }),
    ...(fileWork !== undefined && { fileWork }),
    ...(agent !== undefined && { agent }),
  }
}

/** The recorded placeholder of a result that hooks inspect first. A stop that the tool requested is raised before they are called. */
export function unseenResult(result: ToolResult): ToolResult {
  const { stop } = result
  return { ...withheld(result, 'killed'), ...(stop !== undefined && { stop }), unseen: true }
}

/** The replacement of a result by a hook. Details for programs are dropped, because they describe the replaced result. */
export function replacedResult(
  { details: _details, error: _error, spooled: _spooled, ...result }: ToolResult,
  content: string,
): ToolResult {
  return { ...result, content }
}

export const unknownOutcome: ToolResult = Object.freeze<ToolResult>({
  status: 'unknown',
  content: unknownOutcomeText,
  isError: true,
})

// Every returned or thrown value of a tool has a defined meaning (spec R-TOOL-16). Only a thrown stop ends the run.

const noOutput: ToolResult = Object.freeze<ToolResult>({ status: 'done', content: noOutputText, isError: false })

/** A missing output is an empty result. An output that is neither text nor blocks is shown as JSON. */
export function resultOfOutput(output: unknown): ToolResult {
  if (typeof output === 'string') return { status: 'done', content: output, isError: false }
  if (output === undefined || output === null) return noOutput
  try {
    return resultOfObject(output)
  } catch (error) {
    return failed(error)
  }
}

function resultOfObject(output: unknown): ToolResult {
  if (typeof output === 'object' && output !== null && 'content' in output) {
    // JavaScript code may return any fields, or none.
    const { content, isError, details, memo, spooled, tasks, fileWork } = output as {
      readonly [field: string]: unknown
    }
    if (typeof content === 'string' || Array.isArray(content))
      return withFileWork(
        withTasks(withSpooled(withMemo(resultOfContent(content, Boolean(isError), details), memo), spooled), tasks),
        fileWork,
      )
  }
  const text = typeof output === 'function' || typeof output === 'symbol' ? '' : plainTextOf(output)
  return text === '' ? noOutput : { status: 'done', content: text, isError: false }
}

function resultOfContent(value: string | readonly unknown[], isError: boolean, details: unknown): ToolResult {
  const modelContent = resultContentOf(value)
  const isSilent = !isError && modelContent.length === 0 && typeof value !== 'string'
  const status = isError ? 'failed' : 'done'
  const result: ToolResult = { status, content: isSilent ? noOutput.content : modelContent, isError }
  return details === undefined ? result : { ...result, details: jsonOf(details) }
}

function withMemo(result: ToolResult, memo: unknown): ToolResult {
  return memo === undefined ? result : { ...result, memo: jsonOf(memo) }
}

const longestName = 4_096

function withSpooled(result: ToolResult, spooled: unknown): ToolResult {
  const isName = typeof spooled === 'string' && spooled !== '' && spooled.length <= longestName
  return isName ? { ...result, spooled } : result
}

function withTasks(result: ToolResult, value: unknown): ToolResult {
  const tasks = taskNewsOf(value)
  return tasks.length === 0 ? result : { ...result, tasks }
}

function withFileWork(result: ToolResult, value: unknown): ToolResult {
  const fileWork = fileWorkOf(value)
  return fileWork === undefined ? result : { ...result, fileWork }
}

export function resultOfThrown(thrown: unknown): ToolResult {
  if (!isInstance(thrown, AgentStopException)) return failed(thrown)
  const signal = stopSignalOf(thrown)
  return { status: 'done', content: signal.message || toolStoppedRun, isError: false, stop: signal.toJSON() }
}

function failed(thrown: unknown): ToolResult {
  const error = messageOf(thrown)
  return { status: 'failed', content: error, isError: true, error }
}

/** The signal of a thrown stop, with its step. An unreadable one stops the run too. */
export function stopSignalOf(thrown: AgentStopException): StopSignal {
  try {
    const signal = StopSignal.fromStopException(thrown)
    return thrown.step === null
      ? signal
      : new StopSignal({ ...signal.toJSON(), context: { ...signal.context, step: thrown.step } })
  } catch {
    return new StopSignal({ reason: 'stop_requested', message: messageOf(thrown) })
  }
}
