// Runs with background work: background agents by prompt, and a process with tasks.
import type { Background, TaskEnded, TaskLeft, TaskNote } from '../../src/entries/adapters.ts'
import type { AgentTool, ChildRun, RunEvent, ModelRequest, StepRecord, Tool, TranscriptEntry } from '../../src/index.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import { calls, tool } from './harness.ts'

/** A tool that starts background agents; each receives its prompt. */
export const agent = (more: Partial<ChildRun> = {}): AgentTool<{ readonly prompt: string }> => ({
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object', required: ['prompt'] },
  readOnly: true,
  concurrencySafe: true,
  spawn: ({ prompt }) => ({ prompt, background: true, description: 'look around', ...more }),
})
export const start = (prompt: string) => ({ name: 'Agent', input: { prompt } })

const promptOf = ({ messages }: ModelRequest): string => {
  const content = messages[0]?.content
  return typeof content === 'string' ? content : ''
}
const turnOf = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'assistant').length

/** Scripts by prompt: the main loop's is `go`. */
export const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] | ((turn: number) => ScriptedReply) }) =>
  (request: ModelRequest): ScriptedReply => {
    const script = scripts[promptOf(request)] ?? []
    const turn = turnOf(request)
    return typeof script === 'function' ? script(turn) : (script[turn] ?? 'end')
  }

export const ofAgents = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'agent' ? [event] : []))

/** A reply that arrives when it is released. */
export function heldReply(): { readonly reply: ScriptedReply; readonly free: Promise<void>; let: () => void } {
  let letGo: () => void = () => {}
  const free = new Promise<void>((resolve) => {
    letGo = resolve
  })
  return { reply: { text: 'found it', before: () => free }, free, let: () => letGo() }
}

/** Tokens of all charges on record. */
export const chargesIn = (records: readonly StepRecord[]): number =>
  records.reduce((sum, record) => {
    if (record.type !== 'result') return sum
    return sum + ((record.value as { readonly charge?: { readonly tokens: number } } | null)?.charge?.tokens ?? 0)
  }, 0)

/** The maximum cost of requests that were open at a kill. */
export function openTokens(records: readonly StepRecord[]): number {
  const open = new Map<string, number>()
  for (const record of records) {
    if (record.type === 'result') open.delete(record.key)
    if (record.type !== 'intent') continue
    const most = (record.intent as { readonly most?: { readonly tokens: number } } | null)?.most
    if (most !== undefined) open.set(record.key, most.tokens)
  }
  return [...open.values()].reduce((sum, each) => sum + each, 0)
}

/** A process that runs tasks: those of a `Start` tool, which the test ends. */
export function processWith(overrides: Partial<Pick<Background, 'atEnd' | 'waitMs'>> = {}) {
  const state = new Map<string, TaskEnded | 'running'>()
  const reported = new Set<string>()
  const listeners = new Set<() => void>()
  const left: string[] = []
  const background: Background = {
    atEnd: 'wait',
    waitMs: 600_000,
    ...overrides,
    running: () =>
      [...state].flatMap(([id, how]) =>
        how === 'running' ? [{ type: 'started', id, description: `task ${id}` }] : [],
      ),
    ended: () => [...state].flatMap(([id, how]) => (how !== 'running' && !reported.has(id) ? [how] : [])),
    markReported: (ids) => ids.forEach((id) => reported.add(id)),
    knows: (id) => state.has(id),
    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    leave(why) {
      left.push(why)
      const how = background.atEnd === 'keep' && why === 'ended' ? 'kept' : 'stopped'
      return background.running().map(({ id, description }): TaskLeft => {
        if (how === 'stopped') end(id)
        reported.add(id)
        return { type: 'left', id, how, description: `${id} (${description})` }
      })
    },
  }
  const end = (id: string): void => {
    state.set(id, { type: 'ended', id, status: 'completed', summary: `task ${id} ended.` })
    for (const listener of listeners) listener()
  }
  const start: Tool = tool('Start', (input) => {
    const id = String(input['id'])
    state.set(id, 'running')
    return { content: `started ${id}`, tasks: [{ type: 'started', id, description: `task ${id}` }] }
  })
  return { background, end, start, left, listeners, state }
}

export const starts = (...ids: readonly string[]): ScriptedReply =>
  calls(...ids.map((id) => ({ name: 'Start', input: { id } })))

/** The notes of entries about tasks, in order. */
export function notesIn(transcript: Iterable<TranscriptEntry>): readonly TaskNote[] {
  return [...transcript].flatMap((entry) =>
    entry.kind === 'user' || entry.kind === 'attachment' ? (entry.tasks ?? []) : [],
  )
}
