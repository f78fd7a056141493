import type { Hook } from './hook.ts'
import { uniqueNames } from '../values/unique-names.ts'
import type { HookTrigger } from './hook-outcome.ts'

export interface RegisteredHook {
  readonly id: string
  readonly hook: Hook
}

/** The hooks of a run by trigger, in the order in which they are called: higher priority first, then as registered. */
export interface HookRegistry {
  readonly all: readonly RegisteredHook[]
  for(trigger: HookTrigger, toolName?: string): readonly RegisteredHook[]
}

const nobody: readonly RegisteredHook[] = Object.freeze([])

const noHooks: HookRegistry = Object.freeze<HookRegistry>({ all: nobody, for: () => nobody })

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
      if (found === undefined) return nobody
      if (toolName === undefined) return found
      return found.filter(({ hook }) => isFor(hook, toolName))
    },
  }
}

function isFor({ tools }: Hook, toolName: string): boolean {
  if (tools === undefined) return true
  return typeof tools === 'function' ? tools(toolName) : tools.includes(toolName)
}
