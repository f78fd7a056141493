import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accountOf, type Account } from '../../src/account/account.ts'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { afterAll, beforeAll } from 'vitest'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'

export const samplePath = (name: string): string => fileURLToPath(new URL(`samples/${name}.jsonl`, import.meta.url))

let folder = ''
let count = 0

/** A folder for this test file. */
export function useFolder(): () => string {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'halting-foreign-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return () => folder
}

/** Writes a file with this content. */
export function fileOf(content: string | Uint8Array, name = `file${count++}.jsonl`): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

export const linesOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** Three dollars per million input tokens and fifteen per million output tokens, for one model. */
export const prices = {
  cost: (model: string, usage: { readonly input_tokens: number; readonly output_tokens: number }): number | undefined =>
    model === 'claude-sonnet-4-5' ? (3 * usage.input_tokens + 15 * usage.output_tokens) / 1e6 : undefined,
  worstCase: (): undefined => undefined,
}

let clock = 0
const place = { sessionId: 'a0000000-0000-4000-8000-000000000000', cwd: '/home/user/project', isSidechain: false }

/** Restarts the ids and timestamps of lines. */
export function resetLines(): void {
  clock = 0
}

/** A line of Claude Code. By default it follows the line before it. Each line is one second later. */
function line(fields: object): object {
  clock++
  const timestamp = new Date(Date.UTC(2026, 0, 1) + clock * 1_000).toISOString()
  return { parentUuid: clock === 1 ? null : `u${clock - 1}`, uuid: `u${clock}`, timestamp, ...place, ...fields }
}

export const user = (content: unknown, fields: object = {}): object =>
  line({ type: 'user', message: { role: 'user', content }, ...fields })

export const result = (id: string, content: unknown, fields: object = {}): object =>
  user([{ type: 'tool_result', tool_use_id: id, content }], fields)

export const call = (id: string, name = 'Bash', input: unknown = { command: id }): object => ({
  type: 'tool_use',
  id,
  name,
  input,
})

export const usage = (input: number, output: number): object => ({ input_tokens: input, output_tokens: output })

export const assistant = (id: string, content: unknown, message: object = {}, fields: object = {}): object =>
  line({
    type: 'assistant',
    message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content, usage: usage(100, 10), ...message },
    ...fields,
  })

export const text = (said: string): object => ({ type: 'text', text: said })

export const plain = (fields: object): object => line(fields)

/** The totals of each run of a file. */
export async function accountsOf(path: string): Promise<readonly Account[]> {
  const { runs } = await readForeignSession(path)
  return runs.map((run) => accountOf(recordsOfForeign(run, prices).records))
}
