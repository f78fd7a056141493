import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import {
  onErrorOf,
  readEvents,
  timeoutMsOf,
  effectiveMatcher,
  usualTimeoutMs,
  type HookEvent,
  type ReadHooks,
  type ShellHook,
  type Warn,
} from './settings.ts'

/** Calls a hook of the host or program that opened the session, by its id. */
export type CallHook = (id: string, input: JsonObject, signal: AbortSignal) => Promise<unknown>

/**
 * Reads hooks that are called by id: lists by event with entries `{ matcher?, hookCallbackIds, timeout?, onFailure?
 * }`.
 */
export function readCallbackHooks(value: unknown, call: CallHook): ReadHooks {
  return readEvents(value, (event, groups, warn) => readGroups(event, groups, { call, warn }))
}

interface Reading {
  readonly call: CallHook
  readonly warn: Warn
}

function readGroups(event: HookEvent, groups: Json, { call, warn }: Reading): readonly ShellHook[] {
  if (!Array.isArray(groups)) {
    warn(`${event} must be a list of {"matcher", "hookCallbackIds"}.`)
    return []
  }
  return (groups as readonly Json[]).flatMap((group, index) => {
    const where = `${event}[${index}]`
    const fields = isJsonObject(group) ? group : {}
    const ids = textsIn(fields['hookCallbackIds'])
    const matcher = fields['matcher'] ?? ''
    if (ids === undefined || typeof matcher !== 'string') {
      warn(`${where} must be {"matcher": string, "hookCallbackIds": strings}. Its hooks are ignored.`)
      return []
    }
    const timeoutMs = timeoutMsOf(event, fields['timeout'] ?? undefined)
    // A guard is called even if other fields are invalid.
    if (timeoutMs === undefined) warn(`${where}: timeout must be a number of seconds above 0; the default is used.`)
    const onError = onErrorOf(event, fields)
    if (typeof onError === 'string') warn(`${where}: ${onError}`)
    const common = {
      type: 'callback' as const,
      matcher: effectiveMatcher(matcher, where, warn),
      timeoutMs: timeoutMs ?? usualTimeoutMs(event),
      async: false,
      ...(fields['onFailure'] === 'block' && { onFailure: 'block' as const }),
      ...(typeof onError === 'string' ? {} : onError),
    }
    return ids.map((id) => ({
      ...common,
      id,
      call: (input: JsonObject, signal: AbortSignal) => call(id, input, signal),
    }))
  })
}

function textsIn(value: Json | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every((id) => typeof id === 'string') ? value : undefined
}
