// Holds rules of docs/spec: R-GRADE-1 to R-GRADE-5: what a person says of runs, with the real program.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'
import { here, installProgram, run, script, start } from './support/program.ts'
import { installStorePackage } from './support/store-package.ts'

installProgram()

const idOf = (number: number): string => `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`
const first = idOf(1)
const gradesPath = (): string => join(here(), '.halting', 'grades.jsonl')
const packages = mkdtempSync(join(tmpdir(), 'halting-store-package-'))
afterAll(() => rmSync(packages, { recursive: true, force: true }))

beforeEach(() => rmSync(join(here(), '.halting'), { recursive: true, force: true }))

interface Listed {
  readonly sessionId: string
  readonly runs: readonly { readonly run: number; readonly runId: string; readonly grade: unknown }[]
}

async function listed(...args: readonly string[]): Promise<Listed> {
  const { stdout, status, stderr } = await run(['grade', ...args, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as Listed
}
const gradesOf = async (...args: readonly string[]): Promise<readonly unknown[]> =>
  (await listed(...args)).runs.map(({ grade }) => grade)

test("stores, shows, changes and removes a user's grade", async () => {
  await storeSession(first, [toolReply(['Read', { file_path: 'a' }]), textReply('done')])
  await storeSession(first, [textReply('again')], { maxTurns: 1 })
  const guess = { isGood: true, by: 'guess' }
  expect(await gradesOf(first)).toEqual([guess, guess])
  expect(await run(['grade', 'bad'])).toEqual({
    status: 0,
    stdout: `Graded bad: run 2 of session ${first}\n`,
    stderr: '',
  })
  expect((await run(['grade', first.slice(0, 8), 'good', '--run', '1'])).status).toBe(0)
  const person = (isGood: boolean): object => ({ isGood, by: 'person' })
  expect(await gradesOf()).toEqual([person(true), person(false)])
  expect(await gradesOf(sessionPath(first), '--run', '2')).toEqual([person(false)])
  const { stdout } = await run(['grade'])
  expect(stdout).toBe(
    [
      `Session ${first}, 2 runs`,
      '  run 1  good, graded by you  completed  go',
      '  run 2  bad, graded by you   completed  go',
      '',
    ].join('\n'),
  )
  expect((await run(['grade', first, 'good'])).status).toBe(0)
  expect(await gradesOf(first, 'none', '--run', '1')).toEqual([guess])
  expect((await run(['grade', first, 'none', '--run', '1'])).stdout).toBe(
    `There was no grade to remove: run 1 of session ${first}\n`,
  )
  expect((await run(['grade', first, 'none'])).stdout).toBe(`Removed the grade of run 2 of session ${first}\n`)
  expect((await run(['grade', first, 'good'])).status).toBe(0)
  expect(await gradesOf(first)).toEqual([guess, person(true)])
})

test('refuses invalid words and lists valid ones, and stores nothing', async () => {
  await storeSession(first, [textReply('done')])
  const refused: readonly (readonly [readonly string[], string])[] = [
    [[first, 'god'], '"god" is not a grade. Did you mean good? Grades: good, bad, none.'],
    [[first, '5/5'], '"5/5" is not a grade. Grades: good, bad, none.'],
    [[first, 'good', 'bad'], 'takes a session and a grade'],
    [[first, 'good', '--run', '2'], `Session ${first} has no run 2. Its runs: 1 to 1.`],
    [[first, 'good', '--run', '0'], '--run takes a whole number of at least 1'],
    [
      ['god'],
      'No conversation found with session ID: god. List the sessions of this folder with halting sessions. Grades: good, bad, none.',
    ],
    [['ffffffff', 'good'], 'No conversation found with session ID: ffffffff.'],
    [['good', '--claude-code'], 'Name the session: halting grade SESSION good --claude-code.'],
  ]
  for (const [args, why] of refused) {
    const { status, stdout, stderr } = await run(['grade', ...args])
    expect({ args, status, stdout }).toEqual({ args, status: 2, stdout: '' })
    expect(stderr).toContain(why)
  }
  expect(await gradesOf(first)).toEqual([{ isGood: true, by: 'guess' }])
})

test('grades sessions of Claude Code and Codex, by ID and by file', async () => {
  const sample = (name: string): string =>
    fileURLToPath(new URL(`../../analysis/test/foreign/samples/${name}.jsonl`, import.meta.url))
  const claude = '155c6d30-c71f-4440-a083-22ef29be548c'
  const path = join(here(), '.claude', 'projects', '-p', `${claude}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(sample('claude-code-polling'), path)
  const before = readFileSync(path, 'utf8')
  expect((await run(['grade', claude.slice(0, 8), 'bad', '--claude-code'])).status).toBe(0)
  expect((await run(['grade', claude.slice(0, 8), 'bad', '--codex'])).stderr).toContain('No session of Codex')
  const all = await listed(path)
  expect(all.sessionId).toBe(claude)
  expect(all.runs.at(-1)?.grade).toEqual({ isGood: false, by: 'person' })
  expect((await run(['grade', sample('codex-rollout-0'), 'good'])).status).toBe(0)
  expect((await gradesOf(sample('codex-rollout-0'))).at(-1)).toEqual({ isGood: true, by: 'person' })
  expect(readFileSync(path, 'utf8')).toBe(before)
})

test('grades sessions in a store, and removes their grades when they are deleted', async () => {
  const env = { NODE_PATH: installStorePackage(packages), HALTING_SESSION_STORE: `sqlite:${join(here(), 'sessions')}` }
  const replies = script([{ content: ['Noted.'] }], 'claude-haiku-4-5')
  await run(['-p', 'remember 7', '--script', replies, '--session-id', first], { env })
  expect((await run(['grade', 'good'], { env })).stdout).toBe(`Graded good: run 1 of session ${first}\n`)
  expect(readFileSync(gradesPath(), 'utf8')).toContain(first)
  expect((await run(['grade', first], { env })).stdout).toContain('good, graded by you')
  expect(await run(['sessions', 'delete', first, '--yes'], { env })).toMatchObject({ status: 0 })
  expect(readFileSync(gradesPath(), 'utf8')).toBe('')
})

test('shows grades in exports and reports, and how many solved runs are missing', async () => {
  await storeSession(first, [textReply('done')])
  await storeSession(first, [textReply('more')])
  await run(['grade', first, 'bad'])
  const [markdown, html, report, json] = await Promise.all([
    run(['sessions', 'export', first, '--format', 'markdown']),
    run(['sessions', 'export', first]),
    run(['report']),
    run(['report', '--json']),
  ])
  expect(markdown.stdout.match(/Graded by a person: ` bad `/g)).toHaveLength(1)
  expect(html.stdout.match(/<li>Graded by a person: bad\.<\/li>/g)).toHaveLength(2)
  expect(report.stdout).toContain('Limits that would have lost at most 2 % of the solved runs\n')
  expect(report.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'too few solved runs: 1 of 50 needed. 1 of 2 runs solved: 1 guess.',
  )
  const { calibration } = JSON.parse(json.stdout) as { readonly calibration: object }
  expect(calibration).toMatchObject({
    mayLose: 0.02,
    needed: 50,
    groups: [{ runs: 2, solved: { all: 1, guessed: 1 } }],
  })
})

test('loses no grade if twenty processes grade at once', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => idOf(index + 1))
  for (const id of ids) await storeSession(id, [textReply('done')])
  const ended = await Promise.all(ids.map((id, index) => run(['grade', id, index % 2 === 0 ? 'good' : 'bad'])))
  expect(ended.map(({ status, stderr }) => ({ status, stderr }))).toEqual(ids.map(() => ({ status: 0, stderr: '' })))
  const lines = readFileSync(gradesPath(), 'utf8').trimEnd().split('\n')
  const stored = lines.map((line) => JSON.parse(line) as { readonly session: string; readonly grade: string })
  expect(stored.map(({ session, grade }) => `${session} ${grade}`).toSorted()).toEqual(
    ids.map((id, index) => `${id} ${index % 2 === 0 ? 'good' : 'bad'}`),
  )
})

test('loses no stored grade if processes are killed, and blocks no other process', async () => {
  const ids = Array.from({ length: 8 }, (_, index) => idOf(index + 1))
  for (const id of ids) await storeSession(id, [textReply('done')])
  const running = ids.map((id) => start(['grade', id, 'good']))
  // Once one has stored its grade, the others can be anywhere.
  await Promise.race(running.map(({ ended }) => ended))
  for (const { child } of running) child.kill('SIGKILL')
  const ended = await Promise.all(running.map((each) => each.ended))
  const done = ids.filter((_, index) => ended[index]?.stdout !== '')
  expect(done.length).toBeGreaterThan(0)
  expect((await run(['grade', idOf(1), 'bad'])).status).toBe(0)
  for (const id of done.filter((each) => each !== idOf(1)))
    expect(await gradesOf(id)).toEqual([{ isGood: true, by: 'person' }])
  expect(await gradesOf(idOf(1))).toEqual([{ isGood: false, by: 'person' }])
})

test('reports a foreign file or a link in place of the grades, with advice', async () => {
  await storeSession(first, [textReply('done')])
  writeFileSync(gradesPath(), 'hello\n', { mode: 0o600 })
  for (const args of [
    ['grade', first],
    ['grade', first, 'good'],
  ]) {
    const { status, stderr } = await run(args)
    expect({ args, status }).toEqual({ args, status: 2 })
    expect(stderr).toContain('grades.jsonl, line 1: not a grade of a run. Fix or remove the line.')
  }
  // Commands that only show grades continue without them.
  for (const args of [['report'], ['sessions', 'export', first, '--format', 'markdown']]) {
    const { status, stdout, stderr } = await run(args)
    expect({ args, status, stderr }).toMatchObject({ args, status: 0 })
    expect(stdout).not.toBe('')
    expect(stderr).toContain('grades.jsonl, line 1: not a grade of a run.')
  }
  rmSync(gradesPath())
  symlinkSync(join(here(), 'elsewhere'), gradesPath())
  expect((await run(['grade', first, 'good'])).stderr).toContain('is a link')
})
