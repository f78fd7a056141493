// Holds rules of docs/spec: R-CALIB-1 to R-CALIB-9a, with the real program on stored sessions.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Calibration } from '@halting/analysis'
import { noteGrade } from '@halting/journal'
import type { SavedLimits } from '@halting/policy/settings'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { styleFor } from '../src/io/style.ts'
import { calibrationText } from '../src/what-if/calibration-text.ts'
import { toolReply, storeSession, lineWithSum, textReply, sessionPath } from './support/store-session.ts'
import { here, installProgram, run, script, type Ended } from './support/program.ts'

installProgram()

const idOf = (number: number): string => `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`
const project = (): string => join(here(), 'project')
const settingsPath = (): string => join(project(), '.halting', 'settings.local.json')

/** Sessions with the records of one run of this many turns, since running each of them would take long. */
async function keepMany(
  numbers: readonly number[],
  turns: number,
  maxTurns: number,
  model = 'scripted',
): Promise<void> {
  const template = 'bbbbbbbb-0000-4000-8000-000000000000'
  const script = [
    ...Array.from({ length: turns - 1 }, (_, index) => toolReply(['Edit', { file_path: `${index}` }])),
    textReply('done'),
  ]
  await storeSession(template, script, { maxTurns })
  const path = sessionPath(template)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  rmSync(path)
  for (const number of numbers) {
    const id = idOf(number)
    const own = lines.map((line) =>
      lineWithSum(
        line
          .replaceAll(template, id)
          .replaceAll(JSON.stringify(here()), JSON.stringify(project()))
          .replaceAll('"scripted"', JSON.stringify(model))
          .replace(/,"sum":"\w+"\}$/, ''),
      ),
    )
    const target = sessionPath(id, project())
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, own.join(''))
  }
}

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

beforeAll(async () => {
  mkdirSync(project())
  // 56 solved: 30 of 2 turns, 20 of 4, 5 of 6, 1 of 12. 4 that a limit ended after 25.
  await keepMany(numbers(1, 30), 2, 100)
  await keepMany(numbers(31, 50), 4, 100)
  await keepMany(numbers(51, 55), 6, 100)
  await keepMany([56], 12, 100)
  await keepMany(numbers(57, 60), 40, 25)
})

beforeEach(() => {
  rmSync(join(project(), '.halting'), { recursive: true, force: true })
  rmSync(join(here(), '.halting', 'settings.json'), { force: true })
  rmSync(join(here(), '.halting', 'grades.jsonl'), { force: true })
})

const whatIf = (...args: readonly string[]): Promise<Ended> =>
  run(['what-if', '--suggest', '--may-lose', ...args], { cwd: project() })

interface CalibrationOutput {
  readonly runs: number
  readonly calibration: Calibration
  readonly saved?: SavedLimits
  readonly notes: readonly string[]
}

async function calibrationOutput(...args: readonly string[]): Promise<CalibrationOutput> {
  const { status, stdout, stderr } = await whatIf(...args, '--json')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as CalibrationOutput
}

describe('the output', () => {
  test('shows the limits of the solved runs, what they lose and what they save', async () => {
    const { runs, calibration } = await calibrationOutput('2%')
    expect(runs).toBe(60)
    expect(calibration).toMatchObject({ mayLose: 0.02, needed: 50 })
    expect(calibration.groups).toMatchObject([
      {
        repository: project(),
        runs: 60,
        solved: { all: 56, byPerson: 0, byGoal: 0, guessed: 56 },
        ungraded: 0,
        limits: {
          // 2 % of 56 requires the 56th.
          turns: { kind: 'limit', rank: 56, limit: 12, lost: { runs: 0, of: 56 }, stops: 4, saved: { amount: 52 } },
          tokens: { kind: 'limit', stops: 4 },
          activeMs: { kind: 'limit', limit: 5_000, stops: 0 },
          usd: { kind: 'limit', stops: 4 },
        },
      },
    ])
    const loose = await calibrationOutput('0.1')
    expect(loose.calibration.groups[0]?.limits.turns).toMatchObject({
      rank: 52,
      limit: 6,
      lost: { runs: 1, of: 56 },
      saved: { amount: 76 },
    })
  })

  test('is a readable table that says how reliable the grades are', async () => {
    const { stdout, status } = await whatIf('10%')
    expect(status).toBe(0)
    expect(stdout).toContain('Limits that each lose at most 10 % of solved runs. In parentheses: intervals at 95 %.')
    expect(stdout).toContain('56 of 60 runs solved: 56 guesses.')
    expect(stdout).toMatch(/limit +loses +of future runs +saves\n/)
    expect(stdout).toMatch(/--max-turns 6 +1 of 56, 1\.8 % +8\.8 % \(3–17 %\) +27 % \([\d.]+–\d+ %\): 76 turns, 4 runs/)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('All of them together lose 1 of 56')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('! All of these grades are guesses: the run completed')
    expect(stdout).toContain('Nothing was written. Add --save')
  })

  test('also fits a narrow terminal', async () => {
    const text = calibrationText({ ...(await calibrationOutput('10%')), skipped: [] }, 50, styleFor(false, {}))
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(50)
    expect(text).toContain(
      '  --max-turns 6\n    loses 1 of 56, 1.8 % of solved runs, 8.8 %\n    (3–17 %) of future runs\n',
    )
  })

  test("prefers a user's grade to the guess", async () => {
    const owner = { home: here(), cwd: here(), env: {} }
    for (const number of numbers(57, 60))
      await noteGrade(owner, { sessionId: idOf(number), runId: 'run1', grade: 'good' })
    await noteGrade(owner, { sessionId: idOf(1), runId: 'run1', grade: 'bad' })
    const [group] = (await calibrationOutput('2%')).calibration.groups
    expect(group?.solved).toEqual({ all: 59, byPerson: 4, byGoal: 0, guessed: 55, sessions: 59 })
    expect(group?.limits.turns).toMatchObject({ limit: 25, stops: 0, lost: { runs: 0, of: 59 } })
  })

  test('says how many solved runs are needed if there are too few', async () => {
    const few = numbers(1, 12).map((number) => sessionPath(idOf(number), project()))
    const { stdout, status } = await whatIf('2%', ...few)
    expect(status).toBe(0)
    expect(stdout).toContain('No limits: at 2 % they need 50 solved runs of a model in a repository.')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      '12 of 12 runs solved: 12 guesses; too few solved runs: 12 of 50 needed.',
    )
    expect((await calibrationOutput('2%', ...few)).calibration.groups[0]?.limits.usd).toEqual({
      kind: 'refused',
      why: 'few',
      solved: 12,
      needed: 50,
    })
  })
})

describe('--save', () => {
  test('writes the limits for this project, and they are effective', async () => {
    mkdirSync(join(here(), '.halting'), { recursive: true })
    writeFileSync(join(here(), '.halting', 'settings.json'), '{"limits": {"maxRunUsd": 5}}')
    mkdirSync(dirname(settingsPath()))
    writeFileSync(settingsPath(), '{\n  "env": { "A": "b" },\n  "limits": { "maxTurns": 500 }\n}\n')
    const { saved } = await calibrationOutput('10%', '--save')
    expect(saved?.path).toBe(settingsPath())
    expect(saved?.limits).toMatchObject([
      {
        name: 'maxRunUsd',
        notWritten: expect.stringMatching(/^a project cannot raise a limit \(5, from .*settings\.json\)$/),
      },
      { name: 'maxTokens' },
      { name: 'maxDuration', value: '5s' },
      { name: 'maxTurns', value: 6, before: 500 },
    ])
    const tokens = saved?.limits[1]?.value
    expect(JSON.parse(readFileSync(settingsPath(), 'utf8'))).toEqual({
      env: { A: 'b' },
      limits: { maxTurns: 6, maxTokens: tokens, maxDuration: '5s' },
    })
    const config = await run(['config', '--json'], { cwd: project() })
    const { settings } = JSON.parse(config.stdout) as { readonly settings: readonly object[] }
    expect(settings).toContainEqual(expect.objectContaining({ setting: 'limits.maxTurns', value: 6 }))
  })

  test('says what it wrote, and the previous values', async () => {
    mkdirSync(dirname(settingsPath()))
    writeFileSync(settingsPath(), '{"limits": {"maxTurns": 500}}')
    const { stdout } = await whatIf('10%', '--save')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'They apply in this folder, for all models: limits.maxRunUsd: 7.7 (was not set) limits.maxTokens: 7700 (was not set)',
    )
    expect(stdout).toContain('  limits.maxTurns: 6 (was 500)\n')
    expect(stdout).toContain('  limits.maxDuration: 5s (was not set)\n')
  })

  test.each([
    ['{ "limits": ', 'does not contain a JSON object'],
    ['// mine\n{}', 'comments are not allowed'],
  ])('leaves %j unchanged', async (text, message) => {
    mkdirSync(dirname(settingsPath()))
    writeFileSync(settingsPath(), text)
    const { status, stderr } = await whatIf('10%', '--save')
    expect(status).toBe(2)
    expect(stderr).toContain(message)
    expect(readFileSync(settingsPath(), 'utf8')).toBe(text)
  })

  test('refuses if there are too few solved runs, and in another folder', async () => {
    const few = numbers(1, 12).map((number) => sessionPath(idOf(number), project()))
    const { status, stderr } = await whatIf('2%', ...few, '--save')
    expect(status).toBe(2)
    expect(stderr).toContain('There is no limit to save for scripted in')
    expect(stderr).toContain('too few solved runs: 12 of 50 needed')
    const elsewhere = join(here(), 'elsewhere')
    mkdirSync(elsewhere, { recursive: true })
    const folder = dirname(sessionPath(idOf(1), project()))
    const other = await run(['what-if', folder, '--suggest', '--may-lose', '10%', '--save'], { cwd: elsewhere })
    expect(other.status).toBe(2)
    expect(other.stderr).toContain(`none of these runs worked in it. They worked in ${project()}. Run it there.`)
  })

  test('requires the name of one model if there are several', async () => {
    await keepMany(numbers(100, 103), 3, 100, 'other')
    const { status, stderr } = await whatIf('10%', '--save')
    expect(status).toBe(2)
    expect(stderr).toContain(
      'these runs used several: scripted (60 runs), other (4 runs). Choose one with --model NAME.',
    )
    const { saved } = await calibrationOutput('10%', '--save', '--model', 'scripted')
    expect(saved?.limits.at(-1)).toMatchObject({ name: 'maxTurns', value: 6 })
    const unknown = await whatIf('10%', '--model', 'nobody')
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      'halting: No run used nobody. The runs used: scripted, other.\n',
    ])
    for (const number of numbers(100, 103)) rmSync(sessionPath(idOf(number), project()))
  })

  test('ignores a run that asked no model', async () => {
    const empty = 'cccccccc-0000-4000-8000-000000000000'
    await run(['-p', 'go', '--max-tokens', '1', '--session-id', empty, '--script', script([{ content: 'done' }])], {
      cwd: project(),
    })
    const { calibration, saved } = await calibrationOutput('10%', '--save')
    expect(calibration.groups.map(({ model, runs }) => [model, runs])).toEqual([['scripted', 60]])
    expect(saved?.limits.at(-1)).toMatchObject({ name: 'maxTurns', value: 6 })
    rmSync(sessionPath(empty, project()))
  })

  test('suggests a larger share only if 5 % would be larger', async () => {
    const few = sessionPath(idOf(1), project())
    const strict = await whatIf('2%', few, '--save')
    expect(strict.stderr).toContain('Grade more runs (halting grade SESSION good), or allow more: --may-lose 5%.')
    const loose = await whatIf('40%', few, '--save')
    expect(loose.stderr).toContain('too few solved runs: 1 of 3 needed. Grade more runs (halting grade SESSION good).')
  })
})

test.each([
  [['0%'], '--may-lose takes a share above 0% and below 100%, such as 2% or 0.02'],
  [['100%'], 'a share above 0% and below 100%'],
  [['-2%'], 'a share above 0% and below 100%'],
  [['few'], 'a share above 0% and below 100%'],
  [['2'], '2%'],
  [['2%', '--max-turns', '3'], '--may-lose belongs to --suggest, without limits'],
])('refuses %j', async (args, message) => {
  const { status, stderr } = await whatIf(...args)
  expect(status).toBe(2)
  expect(stderr).toContain(message)
})

test.each([
  [['what-if', '--may-lose', '2%'], '--may-lose belongs to --suggest'],
  [['what-if', '--suggest', '--save'], '--save needs limits to save'],
  [['what-if', '--suggest', '--model', 'scripted'], '--model belongs to --may-lose'],
  [['what-if', '--max-turns', '3', '--model', 'scripted'], '--model belongs to --may-lose'],
  [['check', '--may-lose', '2%'], '--may-lose belongs to halting what-if.'],
])('refuses %j', async (args, message) => {
  const { status, stderr } = await run(args, { cwd: project() })
  expect(status).toBe(2)
  expect(stderr).toContain(message)
})
