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
  /** The messages that the model was shown. */
  readonly messagesForQuery: readonly ModelMessage[]
  /** The messages of the model since the prompt. */
  readonly assistantMessages: readonly AssistantMessage[]
  /** The system prompt. */
  readonly systemPrompt: string
  /** Parts of what people said, by name: the option `userContext`. */
  readonly userContext: { readonly [key: string]: string }
  /** Parts of the system prompt, by name: the option `systemContext`. */
  readonly systemContext: { readonly [key: string]: string }
  /** Who runs. */
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
  /** `main` or the kind of subagent. */
  readonly querySource: string
  /** A stop hook has sent the model back in this run before. */
  readonly stopHookActive: boolean
  /** What the run has used so far, and what its limits leave. */
  readonly figures: HookFigures
  /** Asks a model through the run, as `HookContext.ask` does. Work after the run has none. */
  readonly ask?: AskModel
}

/** What a stop hook decided; nothing at all lets the run end. */
export type StopHookOutcome = {
  /** Sends the model back with this reason. An empty reason does not block. */
  readonly block?: string
  /** Ends the run as `stop_hook_prevented`; the text is for the person. */
  readonly prevent?: string
  /** For the person. */
  readonly systemMessage?: string
  /** It failed, which decides nothing. */
  readonly error?: string
  /** It was cut by an abort, or not called because of one. */
  readonly aborted?: AbortCause
}

/** What a stop hook gave, read once: it decides by a text in a field of its own, and by nothing else. */
export function stopHookOutcomeOf(given: unknown): StopHookOutcome {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object') return { error: 'A stop hook must return its outcome, or nothing.' }
  try {
    // Plain JavaScript may give any fields, or none.
    const { block, prevent, systemMessage, error } = given as { readonly [field: string]: unknown }
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

/** Runs when the model gave its answer, before the run ends. Not after an abort or an API error. */
export interface StopHook {
  /** Stable over restarts: its outcome is recorded by it. Of hooks that share one, each after the first gets a number. */
  readonly id: string
  /** Whose answers it looks at: those of the main loop (`run`, when absent) or those of subagents. */
  readonly of?: 'run' | 'agents'
  /** Returns what to do; nothing returned lets the answer stand. */
  handle(input: StopHookInput): StopHookOutcome | void | Promise<StopHookOutcome | void>
}

export interface RegisteredStopHook {
  readonly id: string
  readonly hook: StopHook
}

const none: readonly never[] = Object.freeze([])

/** The stop hooks of a run in their order, each under an id of its own. */
export function registerStopHooks(hooks: readonly StopHook[]): readonly RegisteredStopHook[] {
  if (hooks.length === 0) return none
  const ids = uniqueNames(hooks.map(({ id }) => id))
  return hooks.map((hook, index) => ({ id: ids[index] ?? hook.id, hook }))
}

/**
 * What belongs after a run: prompt suggestion, memory, summaries. It is *started* when a run has completed and does not delay the result;
 * how it went is told by a `background` event when somebody still listens.
 */
export interface PostRunTask {
  /** By which `background` events name it. */
  readonly name: string
  /** Begins the work and resolves when it is done. What it throws is reported and decides nothing. */
  start(input: StopHookInput): Promise<void>
}
