import type { AbortCause } from '../values/abort.ts'
import { plainTextOf } from '../model/content.ts'
import { messageOf } from '../values/errors.ts'
import type { AssistantMessage, ModelMessage } from '../model/messages.ts'
import type { HookFigures } from './hook-figures.ts'
import type { AskModel } from '../model/questions.ts'
import { uniqueNames } from '../values/text.ts'

// Spec R-SHOOK-1.
/** What the stop-hook stage receives. */
export interface StopHookInput {
  /** The messages in the model's view. */
  readonly messagesForQuery: readonly ModelMessage[]
  /** The messages of the model since the prompt. */
  readonly assistantMessages: readonly AssistantMessage[]
  /** The system prompt. */
  readonly systemPrompt: string
  /** Additions to people's messages, by name: the option `userContext`. */
  readonly userContext: { readonly [key: string]: string }
  /** Parts of the system prompt, by name: the option `systemContext`. */
  readonly systemContext: { readonly [key: string]: string }
  /** The session and agent. */
  readonly toolUseContext: {
    /** Id of the session. */
    readonly sessionId: string
    /** Id of the run. */
    readonly runId: string
    /** The name of the agent that runs; null when it has none. */
    readonly agentId: string | null
    /** Aborted when the run is. */
    readonly signal: AbortSignal
  }
  /** `main`, or the type of subagent. */
  readonly querySource: string
  /** Whether a stop hook has already sent the model back in this run. */
  readonly stopHookActive: boolean
  /** What the run has used so far, and what its limits leave. */
  readonly figures: HookFigures
  /** Asks a model through the run, like `HookContext.ask`. Absent in work after the run. */
  readonly ask?: AskModel
}

/** The decision of a stop hook. An empty outcome lets the run end. */
export type StopHookOutcome = {
  /** Sends the model back with this reason. An empty reason does not block. */
  readonly block?: string
  /** Ends the run as `stop_hook_prevented`; the text is for a person. */
  readonly prevent?: string
  /** A message for a person. */
  readonly systemMessage?: string
  /** The hook failed, which has no effect. */
  readonly error?: string
  /** The hook was aborted, or not called because of an abort. */
  readonly aborted?: AbortCause
}

/** Parses what a stop hook returned. Only texts in the known fields have an effect. */
export function stopHookOutcomeOf(value: unknown): StopHookOutcome {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object') return { error: 'A stop hook must return its outcome, or nothing.' }
  try {
    // Plain JavaScript may return any fields, or none.
    const { block, prevent, systemMessage, error } = value as { readonly [field: string]: unknown }
    return {
      ...(typeof block === 'string' && { block }),
      ...((typeof prevent === 'string' || prevent === true) && { prevent: prevent === true ? '' : prevent }),
      ...(typeof systemMessage === 'string' && { systemMessage }),
      ...(error !== undefined && { error: plainTextOf(error) }),
    }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

/** Called when the model has given its answer, before the run ends. Not called after an abort or an API error. */
export interface StopHook {
  /** Stable across restarts, because its outcome is recorded under this id. If hooks share an id, each after the first gets a number. */
  readonly id: string
  /** Whose answers it checks: those of the main loop (`run`, the default) or those of subagents. */
  readonly of?: 'run' | 'agents'
  /** Returns the decision; returning nothing accepts the answer. */
  handle(input: StopHookInput): StopHookOutcome | void | Promise<StopHookOutcome | void>
}

export interface RegisteredStopHook {
  readonly id: string
  readonly hook: StopHook
}

const noOutcome: readonly never[] = Object.freeze([])

/** The stop hooks of a run in order, each with a unique id. */
export function registerStopHooks(hooks: readonly StopHook[]): readonly RegisteredStopHook[] {
  if (hooks.length === 0) return noOutcome
  const ids = uniqueNames(hooks.map(({ id }) => id))
  return hooks.map((hook, index) => ({ id: ids[index] ?? hook.id, hook }))
}

/**
 * Work after a run: prompt suggestions, memory, summaries. It is *started* when a run has completed, and does not delay
 * the result. A `background` event reports its outcome if the stream is still open.
 */
export interface PostRunTask {
  /** The name in `background` events. */
  readonly name: string
  /** Starts the work and resolves when it is done. If it throws, the error is reported and has no further effect. */
  start(input: StopHookInput): Promise<void>
}
