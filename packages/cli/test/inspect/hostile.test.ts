// Holds R-JOUR-4b, R-JOUR-4c and R-REP-6 with the real program: damage in one file, or next to it, hides no other session.
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toolReply, storeSession, textReply, sessionPath } from '../support/store-session.ts'
import { inspectorStarter } from '../support/inspector.ts'
import { here, installProgram, runHere } from '../support/program.ts'

installProgram()

const sessionId = 'aaaaaaaa-0000-4000-8000-000000000001'
const folder = (): string => join(here(), 'many')

let session = ''
beforeEach(async () => {
  await storeSession(sessionId, [toolReply(['Read', { file_path: 'a.ts' }]), textReply('hello')])
  session = readFileSync(sessionPath(sessionId), 'utf8')
  mkdirSync(folder())
  writeFileSync(join(folder(), 'good.jsonl'), session)
})

afterEach(() => {
  rmSync(folder(), { recursive: true })
  rmSync(join(here(), '.halting'), { recursive: true })
})
const inspector = inspectorStarter()

/** Serves the folder; returns how to request the rows of its list. */
async function inspecting(): Promise<() => Promise<readonly unknown[]>> {
  const { address } = await inspector([folder()])
  return async () => {
    const text = await (await fetch(new URL('api/sessions', address))).text()
    return text.split('\n').flatMap((line): readonly unknown[] => (line === '' ? [] : [JSON.parse(line)]))
  }
}

/** The same session with other content in its lines, with valid checksums. */
const withOther = (text: RegExp, other: string): string =>
  session
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(0, line.lastIndexOf(',"sum"')).replace(text, other))
    .map((line) => `${line},"sum":"${crc32(line).toString(16).padStart(8, '0')}"}\n`)
    .join('')

test('reports a session with forged records next to the others', async () => {
  const strange = join(folder(), 'strange.jsonl')
  writeFileSync(strange, withOther(/"reason":"completed"/, '"reason":"paid"'))
  const rows = await inspecting()
  const problem = expect.stringContaining(
    `The session ${strange} holds what no version of this program writes: in a record of run 1 (end) terminal.reason must be the reason of an ending, but it is "paid".`,
  ) as string
  const listed = await rows()
  expect(listed).toHaveLength(2)
  expect(listed).toContainEqual(expect.objectContaining({ key: 'good', ending: 'completed', turns: 2 }))
  expect(listed).toContainEqual(expect.objectContaining({ key: 'strange', ending: null, problem }))
  for (const args of [
    ['report', folder()],
    ['what-if', folder(), '--max-turns', '1'],
  ]) {
    const { status, stdout } = await runHere([...args, '--json'])
    expect([args, status, JSON.parse(stdout)]).toMatchObject([args, 0, { skipped: [problem] }])
  }
  for (const args of [
    ['why', strange],
    ['replay', strange],
    ['what-if', strange, '--max-turns', '1'],
    ['sessions', 'export', strange],
    ['inspect', '--output', 'it.html', strange],
    ['inspect', strange],
  ]) {
    const { status, stdout, stderr } = await runHere(args)
    expect({ args, status, stdout, stderr }).toEqual({
      args,
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^halting: .*terminal\.reason must be the reason of an ending, but it is "paid"\.[^\n]*\n$/,
      ) as string,
    })
  }
})

test('hides no session because of something in place of its lock', async () => {
  mkdirSync(join(folder(), 'good.jsonl.lock'))
  writeFileSync(join(folder(), `${'n'.repeat(245)}.jsonl`), session)
  const rows = await inspecting()
  expect(await rows()).toMatchObject([
    { ending: 'completed', isLive: false },
    { ending: 'completed', isLive: false },
  ])
})

test('reads a session again after it was overwritten, whatever its size and time', async () => {
  const path = join(folder(), 'good.jsonl')
  const rows = await inspecting()
  expect(await rows()).toMatchObject([{ title: 'go' }])
  const { atime, mtime } = statSync(path)
  writeFileSync(path, withOther(/"content":"go"/, '"content":"no"'))
  utimesSync(path, atime, mtime)
  expect(statSync(path).size).toBe(session.length)
  expect(await rows()).toMatchObject([{ title: 'no' }])
})
