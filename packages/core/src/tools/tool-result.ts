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

/** What a call came to, as recorded. Every call has exactly one, its own or a synthetic one. */
export type ToolResult = {
  readonly status: ToolStatus
  readonly content: string | readonly ContentBlock[]
  readonly isError: boolean
  readonly details?: Json
  /** What the tool has to find again in later calls. */
  readonly memo?: Json
  /** Where all of its text is, for `LargeResults.save`. */
  readonly spooled?: string
  /** What was started and goes on beside the run, and what was told of its end. */
  readonly tasks?: readonly TaskNote[]
  /** What it did to files. */
  readonly fileWork?: FileWork
  /** The subagent that was started and works in the background. */
  readonly agent?: OpenAgent
  /** The tool threw `AgentStopException`: the signal. */
  readonly stop?: StopSignalJson
  /** The call was cut by an abort. */
  readonly abort?: AbortCause
  /** It did not heed the abort and was left behind. */
  readonly stillRunning?: true
  /** The text of what was thrown. */
  readonly error?: string
  // Spec R-HOOK-17a.
  /** Of the record of a call: its result is not there, since a hook may take something out of it. */
  readonly unseen?: true
}

export function resultBlock(callId: string, result: ToolResult): ToolResultBlock {
  const { content, isError } = result
  // The API refuses an empty result that is marked as an error.
  const said = content.length === 0 && isError ? silentFailure : content
  return isError
    ? { type: 'tool_result', tool_use_id: callId, content: said, is_error: true }
    : { type: 'tool_result', tool_use_id: callId, content: said }
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

// The synthetic results: what the model is told about a call that did not finish.

/** `settled`: it ended, or never began. `still_running`: it did not heed the abort and was left behind. */
export function abortedResult(abort: AbortCause, how: 'settled' | 'still_running'): ToolResult {
  if (how === 'settled') return { status: 'interrupted', content: interrupted, isError: true, abort }
  return { status: 'interrupted', content: interruptedStillRunning, isError: true, abort, stillRunning: true }
}

export function notRun(why: string): ToolResult {
  return { status: 'not_run', content: notRunText(why), isError: true }
}

export function invalid(message: string): ToolResult {
  return { status: 'invalid', content: message, isError: true }
}

export function denied(message: string): ToolResult {
  return { status: 'denied', content: message, isError: true }
}

/** It ended, and may not be told as it is: the run broke, was aborted or lost its process before the hooks that look at results had seen it. */
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

/** What stands on record for a result that hooks are to look at first. A stop that the tool asked for is raised before they are called. */
export function unseenResult(result: ToolResult): ToolResult {
  const { stop } = result
  return { ...withheld(result, 'killed'), ...(stop !== undefined && { stop }), unseen: true }
}

/** What a hook has the model told in place of the result. What a program would be told beside it tells of what was replaced. */
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

// Whatever a tool gives or throws has a meaning (spec R-TOOL-16): nothing it does ends the run, but for a stop that it throws.

const noOutput: ToolResult = Object.freeze<ToolResult>({ status: 'done', content: noOutputText, isError: false })

/** Nothing is an empty result, and what is neither text nor blocks is told as JSON. */
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
    // Plain JavaScript may give any fields beside it, or none.
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

function resultOfContent(given: string | readonly unknown[], isError: boolean, details: unknown): ToolResult {
  const shown = resultContentOf(given)
  const isSilent = !isError && shown.length === 0 && typeof given !== 'string'
  const status = isError ? 'failed' : 'done'
  const result: ToolResult = { status, content: isSilent ? noOutput.content : shown, isError }
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

function withTasks(result: ToolResult, given: unknown): ToolResult {
  const tasks = taskNewsOf(given)
  return tasks.length === 0 ? result : { ...result, tasks }
}

function withFileWork(result: ToolResult, given: unknown): ToolResult {
  const fileWork = fileWorkOf(given)
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

/** The signal of a stop that was thrown, with its step. One that cannot be read stops the run all the same. */
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
