// Holds R-JOUR-4c of docs/spec for sessions of other programs: a pipe, a device or a folder in place of a file does not block the reader.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-no-file-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const session = (): string => join(folder, `${sessionId}.jsonl`)

const makers: { readonly [kind: string]: (path: string) => void } = {
  'a pipe that nobody writes': (path) => void spawnSync('mkfifo', [path]),
  'a device that never ends': (path) => symlinkSync('/dev/zero', path),
  'a folder': (path) => mkdirSync(path),
}
const kinds = Object.entries(makers)

describe.skipIf(process.platform === 'win32')('in place of a file', () => {
  test.each(kinds)('%s is not a session', async (_, make) => {
    make(session())
    await expect(readForeignSession(session())).rejects.toThrow('is not a regular file')
  })

  test.each(kinds)('%s is not a subagent file', async (_, make) => {
    const line = { type: 'user', uuid: 'u', sessionId, message: { role: 'user', content: 'go' } }
    writeFileSync(session(), `${JSON.stringify(line)}\n`)
    // Nothing says whose it is.
    make(join(folder, 'agent-1.jsonl'))
    expect(await readForeignSession(session())).toMatchObject({ program: 'claude-code', sessionId })
    mkdirSync(join(folder, sessionId, 'subagents'), { recursive: true })
    make(join(folder, sessionId, 'subagents', 'agent-2.jsonl'))
    await expect(readForeignSession(session())).rejects.toThrow(
      'agent-2.jsonl cannot be read: it is not a regular file',
    )
  })
})
