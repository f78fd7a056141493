import { ConfigurationError } from '../values/errors.ts'
import { describeValue } from '../values/validators.ts'
import { checkOnError, checkTriggers } from './check-hook.ts'
import type { HookContext } from './hook-context.ts'
import type { HookTrigger } from './hook-outcome.ts'
import { uniqueNames } from '../values/text.ts'

// Spec R-HOOK-6.
/**
 * A function that is called at certain points of a run, its triggers. It returns the context that it received, changed
 * or unchanged. Its changes are recorded and always take effect. If it throws `AgentStopException`, the signal of the
 * exception is raised. Any other error is reported to `onError` hooks and has no further effect, unless the error policy
 * ends the run.
 */
export interface Hook {
  /** Unique in a run and stable across restarts, because its outcome is recorded under this id. Default: the class name with a number. */
  readonly id?: string
  /** The triggers at which it is called. */
  readonly triggers: readonly HookTrigger[]
  /** Hooks with a higher priority are called first. Default: 0. */
  readonly priority?: number
  /** For tool triggers: only these tools, as a list or a pure function of the name. */
  readonly tools?: readonly string[] | ((name: string) => boolean)
  // Spec R-HOOK-17.
  /**
   * For a hook on `afterToolUse` that redacts. If it throws or returns something other than a context, both the result
   * and the error are withheld. The record of the call contains the result after the hooks, never what they removed.
   * Without this option a failure has no effect, and the model receives the result unchanged.
   */
  readonly onError?: 'withhold'
  /** Called at each of its triggers. Returns the context, changed or not; returning nothing changes nothing. */
  handle(context: HookContext): HookContext | void | Promise<HookContext | void>
}

/** When and for which tools a `CallableHook` is called. */
export interface CallableHookOptions {
  /** The triggers at which it is called. */
  readonly triggers: readonly HookTrigger[]
  /** Unique in a run and stable across restarts. */
  readonly id?: string
  /** Hooks with a higher priority are called first. Default: 0. */
  readonly priority?: number
  /** The tools whose calls it receives. Default: all. */
  readonly tools?: NonNullable<Hook['tools']>
  /** Withhold the result of a tool when the hook throws. */
  readonly onError?: NonNullable<Hook['onError']>
}

/** A hook made from a function. */
export class CallableHook implements Hook {
  /** The triggers at which it is called. */
  readonly triggers: readonly HookTrigger[]
  readonly priority: number
  declare readonly id?: string
  declare readonly tools?: NonNullable<Hook['tools']>
  declare readonly onError?: NonNullable<Hook['onError']>
  readonly #handle: Hook['handle']

  /** @throws ConfigurationError without a function, without triggers, and for an unknown trigger: the hook would never be called. */
  constructor(handle: Hook['handle'], options: CallableHookOptions) {
    // Plain JavaScript may omit them.
    const triggers: unknown = (options as Partial<CallableHookOptions> | undefined)?.triggers ?? []
    if (Array.isArray(triggers) && triggers.length === 0) {
      throw new ConfigurationError("A CallableHook needs triggers, for example { triggers: ['afterStep'] }.")
    }
    if (typeof handle !== 'function')
      throw new ConfigurationError(`A CallableHook needs a function, but it is ${describeValue(handle)}.`)
    checkTriggers('triggers', triggers)
    checkOnError('onError', options.onError, triggers)
    this.#handle = handle
    this.triggers = options.triggers
    this.priority = options.priority ?? 0
    if (options.id !== undefined) this.id = options.id
    if (options.tools !== undefined) this.tools = options.tools
    if (options.onError !== undefined) this.onError = options.onError
  }

  /** Calls the function. */
  handle(context: HookContext): HookContext | void | Promise<HookContext | void> {
    return this.#handle(context)
  }
}

/** Whether a hook is built in, by its id. Built-in hooks are not reported as a person's hooks. */
export function isBuiltinHook(id: string): boolean {
  return id.startsWith('halting:')
}

export interface RegisteredHook {
  readonly id: string
  readonly hook: Hook
}

/** The hooks of a run by trigger, in calling order: higher priority first, then in order of registration. */
export interface HookRegistry {
  readonly all: readonly RegisteredHook[]
  for(trigger: HookTrigger, toolName?: string): readonly RegisteredHook[]
}

const noHooksForTrigger: readonly RegisteredHook[] = Object.freeze([])

const noHooks: HookRegistry = Object.freeze<HookRegistry>({ all: noHooksForTrigger, for: () => noHooksForTrigger })

export function createHookRegistry(hooks: readonly Hook[] = []): HookRegistry {
  if (hooks.length === 0) return noHooks
  const ids = uniqueNames(hooks.map((hook) => hook.id ?? hook.constructor.name))
  const named = hooks.map((hook, index): RegisteredHook => ({ id: ids[index] ?? hook.constructor.name, hook }))
  const ordered = named.toSorted((a, b) => (b.hook.priority ?? 0) - (a.hook.priority ?? 0))
  const byTrigger = new Map<HookTrigger, readonly RegisteredHook[]>()
  for (const entry of ordered) {
    for (const trigger of entry.hook.triggers) byTrigger.set(trigger, [...(byTrigger.get(trigger) ?? []), entry])
  }
  return {
    all: ordered,
    for(trigger, toolName) {
      const found = byTrigger.get(trigger)
      if (found === undefined) return noHooksForTrigger
      if (toolName === undefined) return found
      return found.filter(({ hook }) => appliesTo(hook, toolName))
    },
  }
}

function appliesTo({ tools }: Hook, toolName: string): boolean {
  if (tools === undefined) return true
  return typeof tools === 'function' ? tools(toolName) : tools.includes(toolName)
}
