import type { RunEvent, ModelMessage, TranscriptEntry } from '@halting/core'
import { project } from './core-internals.ts'

// Compares the events of one run with those of another, and with the transcript.

type AgentEvent = Extract<RunEvent, { readonly type: 'agent' }>

export function isLive(event: RunEvent): boolean {
  if (event.type === 'agent') return isLive(event.event)
  return liveEvents.has(event.type)
}

const liveEvents: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'budget_wait',
  'figures',
  'model_update',
  'question_start',
  'question_end',
  'service_wait',
  'tool_running',
  'tool_update',
  'background',
])

/** The event with which a process begins that continues a run. */
export function isContinuing(event: RunEvent): boolean {
  return event.type === 'run_start' && event.isResumed === true
}

/** Asserts the same events. On every level, events of concurrent agents may be interleaved in any order, but those of each agent are in order. */
export function assertSameEvents(actual: readonly RunEvent[], expected: readonly RunEvent[], what: string): void {
  const [a, b] = [groupByAgent(actual), groupByAgent(expected)]
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    if (!isAlike(a[index], b[index])) assertSame(a[index], b[index], `${what}, number ${index},`)
  }
}

/** Separates the events of each background agent, by its call, from all others. */
function splitBackgroundEvents(events: readonly RunEvent[]): {
  readonly main: readonly RunEvent[]
  readonly beside: ReadonlyMap<string, readonly RunEvent[]>
} {
  const main: RunEvent[] = []
  const beside = new Map<string, RunEvent[]>()
  for (const event of events) {
    if (event.type !== 'agent' || event.inBackground !== true) main.push(event)
    else beside.set(event.callId, [...(beside.get(event.callId) ?? []), event])
  }
  return { main, beside }
}

/** Asserts that a part of a run emitted the last events of the whole run. A background agent emits all its events in each part that it runs in. */
export function assertSuffixOfEvents(whole: readonly RunEvent[], part: readonly RunEvent[], what: string): void {
  const [of, emitted] = [
    splitBackgroundEvents(whole),
    splitBackgroundEvents(part.filter((event) => !isContinuing(event))),
  ]
  assertSameEvents(of.main.slice(of.main.length - emitted.main.length), emitted.main, what)
  for (const [callId, events] of emitted.beside)
    assertSameEvents(of.beside.get(callId) ?? [], events, `${what}, agent ${callId} of the background`)
}

function groupByAgent(events: readonly RunEvent[]): readonly RunEvent[] {
  const ordered: RunEvent[] = []
  const agents = new Map<string, AgentEvent[]>()
  const flush = (): void => {
    for (const callId of [...agents.keys()].toSorted()) ordered.push(...groupWithinAgent(agents.get(callId) ?? []))
    agents.clear()
  }
  for (const event of events) {
    if (event.type === 'agent') agents.set(event.callId, [...(agents.get(event.callId) ?? []), event])
    else {
      flush()
      ordered.push(event)
    }
  }
  flush()
  return ordered
}

/** The same for the events of one agent. */
function groupWithinAgent(events: readonly AgentEvent[]): readonly RunEvent[] {
  const [first] = events
  return first === undefined ? [] : groupByAgent(events.map(({ event }) => event)).map((event) => ({ ...first, event }))
}

/** Asserts that the emitted messages are the entries of the transcript, in order. */
export function assertMessages(
  emitted: readonly TranscriptEntry[],
  entries: readonly TranscriptEntry[],
  what: string,
): void {
  for (let index = 0; index < Math.max(emitted.length, entries.length); index++) {
    const [a, b] = [emitted[index], entries[index]]
    if (!isAlike(a, b)) assertSame(a, b, `${what}: message ${index} and what is on the transcript`)
  }
}

export function messageEntries(events: readonly RunEvent[]): readonly TranscriptEntry[] {
  const entries: TranscriptEntry[] = []
  for (const event of events) if (event.type === 'message') entries.push(event.entry)
  return entries
}

/** Events of each agent, on every level, by the call that it answers. */
export function eventsOfAgents(
  events: readonly RunEvent[],
  agents: Map<string, RunEvent[]> = new Map(),
): ReadonlyMap<string, readonly RunEvent[]> {
  for (const event of events) {
    if (event.type !== 'agent') continue
    eventsOfAgents([event.event], agents)
    const own = agents.get(event.callId) ?? []
    own.push(event.event)
    agents.set(event.callId, own)
  }
  return agents
}

/** Asserts that a subagent's model was shown exactly the messages emitted for the subagent until then. */
export function assertModelInput(
  agents: ReadonlyMap<string, readonly RunEvent[]>,
  shown: ReadonlyMap<string, readonly ModelMessage[]>,
  what: string,
): void {
  if (shown.size === 0) return
  for (const [callId, events] of agents) {
    const entries: TranscriptEntry[] = []
    for (const event of events) {
      if (event.type === 'message') entries.push(event.entry)
      if (event.type !== 'model_start') continue
      const name = `:${callId}/model:${event.request}.${event.attempt}`
      for (const [key, messages] of shown) {
        if (key.endsWith(name))
          assertSame(messages, project(entries), `${what}: what ${key} was shown and what was emitted`)
      }
    }
  }
}

export function assertSame(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) fail(`${what} differs:\n  ${a}\n  ${b}`)
}

/**
 * Whether two values are the same as JSON, without serializing them. Returns false if only the JSON would show it: for objects that are not plain, and for fields that are
 * undefined in one of them.
 */
function isAlike(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((part, index) => isAlike(part, b[index]))
  if (!isPlain(a) || !isPlain(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isAlike(a[key], b[key]))
}

function isPlain(value: object): value is { readonly [key: string]: unknown } {
  return Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value)
}

export function fail(message: string): never {
  throw new Error(message)
}
