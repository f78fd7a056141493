import type { Json } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import { hookEvents } from '@halting/policy'

/** What hooks of an agent that are not called mean for its tools. */
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

/** Reads hooks from the lines below `hooks:` in a file, or from the text after it. */
export function uncalledHooks(text: string, below: readonly string[]): UncalledHooks {
  if (text !== '') return unread
  const events = eventsIn(below)
  return events === undefined ? unread : uncalled(events)
}

/** The same for hooks as JSON. */
export function uncalledHooksOf(hooks: Json): UncalledHooks {
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
  return typeof matcher === 'string' ? matcher : ''
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

/** Events with their matchers; undefined if the lines do not have the usual form. */
function eventsIn(below: readonly string[]): readonly EventOfHooks[] | undefined {
  const lines = below.filter((line) => !/^\s*(?:#|$)/.test(line))
  const [first] = lines
  if (first === undefined) return []
  const indent = indentOf(first)
  const events: { readonly event: string; readonly lines: string[] }[] = []
  for (const line of lines) {
    if (indentOf(line) < indent || line.includes('\t')) return undefined
    const isItem = /^\s*-(?:\s|$)/.test(line)
    const last = events.at(-1)
    if (indentOf(line) > indent || (isItem && last !== undefined)) {
      if (last === undefined) return undefined
      last.lines.push(line)
      continue
    }
    const [, event, rest = ''] = /^\s*["']?([\w-]+)["']?\s*:(.*)$/.exec(line) ?? []
    if (event === undefined) return undefined
    events.push({ event, lines: rest.trim() === '' ? [] : [rest] })
  }
  return events.map(({ event, lines: inner }) => ({ event, matchers: matchersIn(inner) }))
}

/** One matcher per group. If they cannot be assigned to their groups, one that matches everything. */
function matchersIn(lines: readonly string[]): readonly string[] {
  const least = Math.min(...lines.map(indentOf))
  const groups = lines.filter((line) => indentOf(line) === least && /^\s*-(?:\s|$)/.test(line)).length
  const matchers = lines.flatMap((line) => {
    const [, double, single, plain] =
      /^\s*(?:-\s+)?matcher\s*:\s*(?:"([^"\\]*)"|'([^']*)'|([^"'#\s&*!|>[{][^#]*?))\s*(?:#.*)?$/.exec(line) ?? []
    const matcher = double ?? single ?? plain
    return matcher === undefined ? [] : [matcher]
  })
  return groups > 0 && groups === matchers.length ? matchers : ['']
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
