import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The totals of generated sessions, counted while they were written. */
export interface Generated {
  readonly runs: number
  readonly turns: number
  readonly tokens: number
  /** In nano-dollars, by the prices of claude-sonnet-4-5. */
  readonly nanos: number
  readonly runsByDay: Readonly<Record<string, number>>
  readonly calls: number
  readonly failed: number
}

/** A UUID that is the same each time. */
function idOf(...parts: readonly unknown[]): string {
  const hex = createHash('sha256').update(parts.join(':')).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Writes sessions in the form of Claude Code, over thirty days of November, the same each time. */
export function generateSessions(folder: string, count: number): Generated {
  let seed = 11
  const next = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most
  const sum = { runs: 0, turns: 0, tokens: 0, nanos: 0, calls: 0, failed: 0 }
  const runsByDay: Record<string, number> = {}
  for (let number = 0; number < count; number++) {
    const sessionId = idOf('session', number)
    const day = `2026-11-${String(1 + next(30)).padStart(2, '0')}`
    let at = Date.parse(`${day}T08:00:00Z`)
    let parent: string | null = null
    const lines: object[] = []
    const add = (fields: { readonly [field: string]: unknown }): void => {
      const uuid = idOf(sessionId, lines.length)
      at += 1_000
      const place = { uuid, parentUuid: parent, isSidechain: false, timestamp: new Date(at).toISOString(), sessionId }
      lines.push({ ...place, cwd: `/home/user/project-${number % 7}`, version: '2.1.330', ...fields })
      parent = uuid
    }
    add({ type: 'user', message: { role: 'user', content: `task ${number}` } })
    const turns = 1 + next(12)
    for (let turn = 0; turn < turns; turn++) {
      const isLast = turn === turns - 1
      const [input_tokens, output_tokens] = [1 + next(5_000), 1 + next(900)]
      const id = `toolu_${number}_${turn}`
      const content = isLast
        ? [{ type: 'text', text: 'done' }]
        : [{ type: 'tool_use', id, name: turn % 3 === 0 ? 'Bash' : 'Read', input: { command: `x${turn}` } }]
      const usage = { input_tokens, output_tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
      const stop_reason = isLast ? 'end_turn' : 'tool_use'
      const message = { id: `msg_${number}_${turn}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' }
      add({ type: 'assistant', message: { ...message, content, stop_reason, stop_sequence: null, usage } })
      sum.turns++
      sum.tokens += input_tokens + output_tokens
      sum.nanos += input_tokens * 3_000 + output_tokens * 15_000
      if (isLast) continue
      const is_error = next(5) === 0
      sum.calls++
      if (is_error) sum.failed++
      const result = { tool_use_id: id, type: 'tool_result', content: 'x'.repeat(2_000), is_error }
      add({ type: 'user', message: { role: 'user', content: [result] } })
    }
    sum.runs++
    runsByDay[day] = (runsByDay[day] ?? 0) + 1
    writeFileSync(join(folder, `${sessionId}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  return { ...sum, runsByDay }
}
