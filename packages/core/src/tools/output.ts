import { taskNewsOf } from '../verification/background.ts'
import { plainTextOf, resultContentOf } from '../model/content.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { jsonOf } from '../values/json.ts'
import { StopSignal } from '../endings/signal.ts'
import { AgentStopException } from '../endings/stop-exception.ts'
import { fileWorkOf } from '../verification/file-work.ts'
import { noOutputText, toolStoppedRun } from './result-texts.ts'
import type { ToolResult } from './tool-result.ts'

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
