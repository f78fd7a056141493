import type { Json, JsonObject } from '../json.ts'
import type { MessageContent } from '../messages.ts'
import type { StopSignalJson } from '../stop/signal.ts'
import type { HookContext } from './context.ts'

/** When a hook is called (seed 002). */
export type HookTrigger =
  | 'beforeExecution'
  | 'afterExecution'
  | 'beforeStep'
  | 'afterStep'
  | 'beforeInference'
  | 'afterInference'
  | 'beforeToolUse'
  | 'afterToolUse'
  /** The run is about to end: a hook may ask to go on. Not after an abort. */
  | 'onStop'
  /** A tool or a hook failed, or the run ends in a failure. */
  | 'onError'

/**
 * A hook by class. It returns the context it was given, changed or not: what it changed is recorded and always takes effect.
 * Throwing `AgentStopException` raises its signal; any other throw is reported and decides nothing, unless the error policy says otherwise.
 */
export interface Hook {
  /** Unique in a run and stable over restarts: its outcome is recorded by it. The class name with a number when absent. */
  readonly id?: string
  readonly triggers: readonly HookTrigger[]
  /** Higher comes first; 0 unless said otherwise. */
  readonly priority?: number
  /** For tool triggers: only these tools. */
  readonly tools?: readonly string[]
  handle(context: HookContext): HookContext | void | Promise<HookContext | void>
}

/** What a hook decided, closed and JSON: the recorded form of what it changed in its context. */
export type HookOutcome = {
  readonly signals?: readonly StopSignalJson[]
  /** It asked to go on although signals stand. */
  readonly continued?: true
  /** User messages for the model. */
  readonly messages?: readonly MessageContent[]
  readonly metadata?: JsonObject
  /** beforeToolUse: the call is denied, with this reason for the model. */
  readonly blocked?: string
  /** beforeToolUse: a person is to be asked, or the hook vouches for the call (deny and ask rules still stand). */
  readonly permission?: 'allow' | 'ask'
  /** beforeToolUse: the input in place of the model's. */
  readonly input?: { readonly value: Json }
  /** afterToolUse: the result in place of the tool's. */
  readonly output?: string
  /** afterToolUse: the run ends after this turn's tools. */
  readonly prevented?: string
  /** It threw. */
  readonly error?: string
  readonly aborted?: true
}

export interface CallableHookOptions {
  readonly triggers: readonly HookTrigger[]
  readonly id?: string
  readonly priority?: number
  readonly tools?: readonly string[]
}

/** A hook from a function. */
export class CallableHook implements Hook {
  readonly triggers: readonly HookTrigger[]
  readonly priority: number
  declare readonly id?: string
  declare readonly tools?: readonly string[]
  readonly #handle: Hook['handle']

  constructor(handle: Hook['handle'], options: CallableHookOptions) {
    this.#handle = handle
    this.triggers = options.triggers
    this.priority = options.priority ?? 0
    if (options.id !== undefined) this.id = options.id
    if (options.tools !== undefined) this.tools = options.tools
  }

  handle(context: HookContext): HookContext | void | Promise<HookContext | void> {
    return this.#handle(context)
  }
}
