import type { Json } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import { hookEvents } from '@halting/policy'

/** What the hooks of an agent mean for it, where they are not called. */
export interface UncalledHooks {
  /** Matchers of hooks that may deny a call: without them the agent does not have the tools that fit. */
  readonly guards: readonly string[]
  readonly notes: readonly string[]
}

interface EventOfHooks {
  readonly event: string
  /** One for each group of hooks; an empty one is for every tool. */
  readonly matchers: readonly string[]
}

/** Of hooks that cannot be read nothing is known: any of them may guard any tool. */
const unread: UncalledHooks = {
  guards: [''],
  notes: [
    'hooks of an agent are not supported, and these cannot be parsed. They may guard any tool, so the agent gets no tools.',
  ],
}

/** Hooks of a file or of `--agents`, as they were parsed. */
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
    const meant = known ?? nearest(event, hookEvents)
    if (known === undefined)
      notes.push(`hooks: unknown event ${event}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`)
    // A slip of the pen makes no guard fall silent.
    if (meant === 'PreToolUse') guards.push(...matchers)
  }
  const shown = guards.map((guard) => (guard === '' || guard === '*' ? 'all' : guard)).join(', ')
  const without =
    guards.length === 0 ? '' : ` The agent does not get the tools that its PreToolUse hooks guard (${shown}).`
  return { guards, notes: [`hooks of an agent are not supported.${without}`, ...notes] }
}
