// Holds rules of docs/spec: R-SESS-12, R-SESS-12a: what a session keeps is that of one folder, whatever other folders are called.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { call, here, installProgram, projectName, run, script, type Ended } from './support/program.ts'

installProgram()

const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const projects = (): string => join(here(), '.halting/projects')
/** The folder name that earlier versions used. */
const nameBefore = (cwd: string): string => cwd.replaceAll(/[^a-zA-Z0-9]/g, '-')
const folder = (name: string): string => {
  mkdirSync(join(here(), name), { recursive: true })
  return join(here(), name)
}

beforeEach(() => rmSync(join(here(), '.halting'), { recursive: true, force: true }))

const change = call('Write', { file_path: 'new.txt', content: 'made' })
const begin = (cwd: string): Promise<Ended> =>
  run(
    ['-p', 'mine', '--script', script([{ content: [change] }, { content: 'Done.' }]), '--session-id', id].concat(
      '--permission-mode',
      'acceptEdits',
    ),
    { cwd },
  )
const resumeSession = (cwd: string): Promise<Ended> =>
  run(['-p', 'more', '--script', script([{ content: 'On.' }]), '--continue'], { cwd })

/** Moves the session and its files to where an older version would have put them. */
const asBefore = (cwd: string): void =>
  renameSync(join(projects(), projectName(cwd)), join(projects(), nameBefore(cwd)))

describe('folders whose names differ only in special characters', () => {
  const asNow = (): void => undefined
  test.each([
    ['a_b and a-b', 'a_b', 'a-b', asNow],
    ['p/q and p-q, as an older version kept them', 'p/q', 'p-q', asBefore],
    ['проект and работа, as an older version kept them', 'проект', 'работа', asBefore],
    ['日本 and 中国', '日本', '中国', asNow],
  ])('share nothing: %s', async (_what, one, other, put) => {
    const [own, stranger] = [folder(one), folder(other)]
    expect((await begin(own)).status).toBe(0)
    put(own)
    writeFileSync(join(stranger, 'new.txt'), 'mine')
    const refused = await resumeSession(stranger)
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('No conversation found to continue')])
    const undone = await run(['undo', '--yes'], { cwd: stranger })
    expect([undone.status, existsSync(join(own, 'new.txt'))]).toEqual([2, true])
    expect(JSON.parse((await run(['sessions', '--json'], { cwd: stranger })).stdout || '{"sessions":[]}')).toEqual({
      sessions: [],
    })
    const named = await run(['-p', 'x', '--script', script([{ content: 'x' }]), '--resume', id], { cwd: stranger })
    expect([named.status, named.stderr]).toEqual([2, expect.stringContaining(`belongs to the folder ${own}`)])

    expect((await resumeSession(own)).stdout).toBe('On.\n')
    expect((await run(['undo', '--yes'], { cwd: own })).status).toBe(0)
    expect([existsSync(join(own, 'new.txt')), readFileSync(join(stranger, 'new.txt'), 'utf8')]).toEqual([false, 'mine'])
    // Sessions of an older version stay in one place.
    expect(readdirSync(projects()).filter((name) => !name.startsWith('.'))).toHaveLength(1)
  })
})

test('answers, forks and deletes a session of an older version in its place', async () => {
  const own = folder('a_b')
  const asks = call('Bash', { command: 'touch asked' })
  const flags = ['--session-id', id, '--on-ask', 'defer', '--output-format', 'json']
  const asked = await run(['-p', 'go', '--script', script([{ content: [asks] }]), ...flags], { cwd: own })
  asBefore(own)
  const [waiting] = JSON.parse(asked.stdout).stop.context.pending
  expect((await run(['approve', id, waiting.id], { cwd: own })).status).toBe(0)
  expect((await run(['-p', '--resume', id, '--script', script([{ content: 'x' }])], { cwd: own })).status).toBe(0)
  expect(existsSync(join(own, 'asked'))).toBe(true)
  const copied = await run(['-p', 'more', '--script', script([{ content: 'x' }]), '--continue', '--fork-session'], {
    cwd: own,
  })
  expect(copied.status).toBe(0)
  expect((await run(['sessions', 'delete', id, '--yes'], { cwd: own })).status).toBe(0)
  const left = readdirSync(projects(), { recursive: true }).map(String)
  expect(left.filter((name) => /^[^/]*\/[^/]*\.jsonl$/.test(name))).toEqual([expect.stringContaining(projectName(own))])
  expect(left.some((name) => name.includes(id))).toBe(false)
})
