// Holds R-FOR-2a of docs/spec: a line that is too long to read is skipped, and reported by file and number.
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-long-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const maxBytes = 256 * 1_024 * 1_024

/** A file with this content followed by this number of zero bytes, which take no space on disk. */
function fileOf(content: string, zeros: number): string {
  const path = join(folder, `${sessionId}.jsonl`)
  writeFileSync(path, content)
  truncateSync(path, Buffer.byteLength(content) + zeros)
  return path
}

test.each([
  [
    'claude-code',
    {
      type: 'user',
      uuid: 'u1',
      timestamp: '2026-01-01T00:00:00Z',
      sessionId,
      message: { role: 'user', content: 'hi' },
    },
  ],
  ['codex', { timestamp: '2026-01-01T00:00:00Z', type: 'session_meta', payload: { id: sessionId, cwd: '/work' } }],
])('a %s line that is too long is skipped and reported with its file and number', async (program, first) => {
  const path = fileOf(`${JSON.stringify(first)}\n`, maxBytes + 1)
  appendFileSync(path, '\nno JSON\n')
  expect(await readForeignSession(path)).toMatchObject({
    program,
    skipped: { damaged: 1, tooLong: [{ file: path, line: 2 }] },
  })
})
