import type { Json } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import { hookEvents } from '@halting/policy'

/** How an agent's hooks, which are not called, restrict its tools. */
export interface UncalledHooks {
  /** Matchers of hooks that may deny a call. The agent does not get the tools that they match. */
  readonly guards: readonly string[]
  readonly notes: readonly string[]
}

interface EventOfHooks {
  readonly event: string
  /** One matcher per group of hooks; an empty one matches every tool. */
  readonly matchers: readonly string[]
}

/** Unreadable hooks may guard any tool. */
const unread: UncalledHooks = {
  guards: [''],
  notes: [
    'hooks of an agent are not supported, and these cannot be parsed. They may guard any tool, so the agent gets no tools.',
  ],
}

/** Reads hooks of a file or of `--agents`, as parsed. */
export function uncalledHooks(hooks: Json): UncalledHooks {
  if (!isJsonObject(hooks)) return unread
  return uncalled(
    Object.entries(hooks).map(([event, groups]) => ({
      event,
      matchers: Array.isArray(groups) ? groups.map((group: Json) => matcherOf(group)) : [''],
    })),
  )
}

function matcherOf(group: Json): string {
  const matcher = isJsonObject(group) ? group['matcher'] : undefined
  return typeof matcher === 'string' ? matcher.trim() : ''
}

function uncalled(events: readonly EventOfHooks[]): UncalledHooks {
  const notes: string[] = []
  const guards: string[] = []
  for (const { event, matchers } of events) {
    const known = hookEvents.find((one) => one === event)
    const intendedEvent = known ?? nearest(event, hookEvents)
    if (known === undefined)
      notes.push(
        `hooks: unknown event ${event}.${intendedEvent === undefined ? '' : ` Did you mean ${intendedEvent}?`}`,
      )
    // A misspelled event name must not disable a guard.
    if (intendedEvent === 'PreToolUse') guards.push(...matchers)
  }
  const listedGuards = guards.map((guard) => (guard === '' || guard === '*' ? 'all' : guard)).join(', ')
  const without =
    guards.length === 0 ? '' : ` The agent does not get the tools that its PreToolUse hooks guard (${listedGuards}).`
  return { guards, notes: [`hooks of an agent are not supported.${without}`, ...notes] }
}
