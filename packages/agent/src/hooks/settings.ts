import { isJsonObject, jsonOf } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { nearest } from '../nearest.ts'
import { hookEvents, type HookEvent } from '@halting/policy'
import { problemOfMatcher } from './matcher.ts'

export { hookEvents, type HookEvent }

interface Common {
  /** Matches tools, sources or triggers; '' for all (see `matches`). */
  readonly matcher: string
  readonly timeoutMs: number
  /** The hook runs in the background and decides nothing. */
  readonly async: boolean
  /** The hook runs once per session. */
  readonly once?: boolean
  /** The folder of the plugin that defines the hook. */
  readonly pluginRoot?: string
  // Spec R-SETHOOK-25.
  /**
   * For PostToolUse and PostToolUseFailure: the hook redacts. If it fails or exceeds its timeout, the result is
   * withheld.
   */
  readonly onError?: 'withhold'
}

/** A hook that calls a function of a host or program. Its return value is read like the JSON output of a command. */
export interface CallbackHook {
  readonly type: 'callback'
  /** Hooks with the same id are called once. */
  readonly id: string
  /**
   * Calls the function. The signal is aborted when the answer is no longer needed. An exception counts as a failure of
   * the hook.
   */
  call(input: JsonObject, signal: AbortSignal): Promise<unknown>
  /** A failure blocks the event, like exit code 2. Default: a failure decides nothing. */
  readonly onFailure?: 'block'
}

/** One hook of the settings, or of the host or program. */
export type ShellHook = Common &
  (
    | {
        readonly type: 'command'
        /** The command line; the command receives the event as JSON on stdin. */
        readonly command: string
      }
    | {
        readonly type: 'http'
        /** URL to which the event is posted. */
        readonly url: string
        /** Further headers of the request. */
        readonly headers: { readonly [name: string]: string }
        /** Variables that the headers may use (default: all). */
        readonly variables?: readonly string[]
      }
    | {
        readonly type: 'prompt'
        /** The question to a model; `$ARGUMENTS` stands for the event. */
        readonly prompt: string
      }
    | CallbackHook
  )

/** Hooks by event, in the order of the settings. */
export type ShellHookTable = { readonly [event in HookEvent]?: readonly ShellHook[] }

/** Hooks read from settings, with warnings. */
export interface ReadHooks {
  /** The hooks, by event. */
  readonly hooks: ShellHookTable
  /** Warnings about hooks that exist but will not be called: nothing is ignored silently. */
  readonly warnings: readonly string[]
}

const longMs = 600_000
const defaultTimeoutsMs: { readonly [event in HookEvent]?: number } = {
  UserPromptSubmit: 30_000,
  SessionEnd: 1_500,
}

/** Reads the `hooks` of settings: lists by event. The caller must have verified that hooks of a folder are trusted. */
export function readHooks(rawValue: unknown): ReadHooks {
  return readEvents(rawValue, readGroups)
}

/** Reads lists by event, each with its own reader. */
export function readEvents(
  rawValue: unknown,
  readList: (event: HookEvent, groups: Json, warn: Warn) => readonly ShellHook[],
): ReadHooks {
  const found: { [event in HookEvent]?: readonly ShellHook[] } = {}
  const warnings: string[] = []
  const warn: Warn = (what) => void warnings.push(`hooks: ${what}`)
  const hooks = jsonOf(rawValue ?? {})
  if (!isJsonObject(hooks)) {
    warn('must be an object with lists by event. No hook is used.')
    return { hooks: found, warnings }
  }
  for (const [event, groups] of Object.entries(hooks)) {
    const known = hookEvents.find((one) => one === event)
    const meant = known === undefined ? nearest(event, hookEvents) : undefined
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
    if (known === undefined) warn(`unknown event ${event}; its hooks are ignored.${hint}`)
    else found[known] = readList(known, groups ?? null, warn)
  }
  return { hooks: found, warnings }
}

export type Warn = (what: string) => void

/** Returns the effective matcher, and warns if it looks like a mistake. */
export function effectiveMatcher(matcher: string, where: string, warn: Warn): string {
  const problem = problemOfMatcher(matcher)
  // A misspelled matcher must not disable a guard: an invalid one matches everything.
  if (problem !== undefined)
    warn(`${where}: the matcher "${matcher}" is not a valid regular expression (${problem}), so it matches every tool.`)
  // No tool has such a name, so the guard would never be called.
  if (/^\w+\([^)]*[\s:/~][^)]*\)$/.test(matcher))
    warn(
      `${where}: the matcher "${matcher}" is compared with tool names and matches none: it looks like a permission rule. Use ${matcher.slice(0, matcher.indexOf('('))}, and check tool_input in the hook.`,
    )
  return problem === undefined ? matcher : ''
}

export function usualTimeoutMs(event: HookEvent): number {
  return defaultTimeoutsMs[event] ?? longMs
}

/** A timeout in seconds as milliseconds; the event's default when absent. Undefined if it is not a duration. */
export function timeoutMsOf(event: HookEvent, seconds: Json | undefined): number | undefined {
  if (seconds === undefined) return usualTimeoutMs(event)
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, longestMs) : undefined
}

function readGroups(event: HookEvent, groups: Json, warn: Warn): readonly ShellHook[] {
  if (!Array.isArray(groups)) {
    warn(`${event} must be a list of {"matcher", "hooks"}.`)
    return []
  }
  return (groups as readonly Json[]).flatMap((group, index) => {
    const where = `${event}[${index}]`
    const matcher = isJsonObject(group) ? (group['matcher'] ?? '') : undefined
    if (!isJsonObject(group) || !Array.isArray(group['hooks']) || typeof matcher !== 'string') {
      warn(`${where} takes {"matcher": text, "hooks": list}.`)
      return []
    }
    const used = effectiveMatcher(matcher, where, warn)
    return (group['hooks'] as readonly Json[]).flatMap((hook, place) => {
      const read = readHook(event, used, hook)
      if (typeof read !== 'string') return [read]
      warn(`${where}.hooks[${place}]: ${read}`)
      return []
    })
  })
}

function readHook(event: HookEvent, matcher: string, hook: Json): ShellHook | string {
  if (!isJsonObject(hook)) return 'a hook must be an object with a type.'
  const { type, timeout } = hook
  const timeoutMs = timeoutMsOf(event, timeout)
  if (timeoutMs === undefined) return 'timeout must be a number of seconds above 0.'
  const isOnce = hook['once'] === true
  const onError = onErrorOf(event, hook)
  if (typeof onError === 'string') return onError
  const common: Common = {
    matcher,
    timeoutMs,
    async: hook['async'] === true,
    ...(isOnce && { once: true }),
    ...onError,
  }
  const text = (field: string): string => {
    const value = hook[field]
    return typeof value === 'string' ? value.trim() : ''
  }
  switch (type) {
    case 'command':
      return text('command') === '' ? 'command must be a string.' : { ...common, type, command: text('command') }
    case 'http':
      if (!/^https?:\/\//i.test(text('url')) || !URL.canParse(text('url')))
        return 'url must be a URL that begins with http:// or https://.'
      return {
        ...common,
        type,
        url: text('url'),
        headers: headersOf(hook['headers']),
        ...variablesOf(hook['allowedEnvVars']),
      }
    case 'prompt':
      return text('prompt') === '' ? 'prompt must be a string.' : { ...common, type, prompt: text('prompt') }
    default:
      return `unknown type ${JSON.stringify(type) ?? '(none)'}. Use command, http or prompt.`
  }
}

/** Events whose hooks may redact a result. */
const afterTools: readonly HookEvent[] = ['PostToolUse', 'PostToolUseFailure']

/**
 * Returns the hook's failure policy, or what is wrong with it. A hook that should redact must not be called as one
 * that does not.
 */
export function onErrorOf(event: HookEvent, hook: JsonObject): { readonly onError?: 'withhold' } | string {
  const { onError } = hook
  if (onError === undefined) return {}
  if (onError !== 'withhold') return 'onError must be "withhold".'
  if (!afterTools.includes(event))
    return `onError only works with ${afterTools.join(' and ')}, where there is a result to withhold.`
  const isNotHeeded = hook['async'] === true || hook['once'] === true
  return isNotHeeded
    ? 'onError cannot be combined with async or once: every result has to wait for the hook.'
    : { onError }
}

/** Maximum delay of a timer: larger values would fire immediately. */
const longestMs = 2_147_483_647

/** Hooks of several sources as one table, in this order per event. */
export function joinedHooks(tables: readonly ShellHookTable[]): ShellHookTable {
  return Object.fromEntries(
    hookEvents.flatMap((event) => {
      const hooks = tables.flatMap((table) => table[event] ?? [])
      return hooks.length === 0 ? [] : [[event, hooks]]
    }),
  )
}

function headersOf(rawValue: Json | undefined): { readonly [name: string]: string } {
  if (rawValue === undefined || !isJsonObject(rawValue)) return {}
  return Object.fromEntries(
    Object.entries(rawValue).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

/** Returns the variables that headers may use. If variables are listed, no others are sent. */
function variablesOf(rawValue: Json | undefined): { readonly variables?: readonly string[] } {
  if (rawValue === undefined) return {}
  return {
    variables: Array.isArray(rawValue) ? rawValue.filter((name): name is string => typeof name === 'string') : [],
  }
}
