// Holds rules of docs/spec: R-LIM-80 to R-LIM-86, over files, with the program.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WhatIf } from '@halting/analysis'
import { beforeAll, expect, test } from 'vitest'
import { isDeep } from '../../agent/test/support/deep.ts'
import { here, installProgram, run, runHere } from './support/program.ts'
import {
  toolReply,
  storeSession,
  storeLargeSessions,
  lineWithSum,
  textReply,
  sessionPath,
} from './support/store-session.ts'

installProgram()

const ids = ['aaaaaaaa-0000-4000-8000-00000000000', 'bbbbbbbb-0000-4000-8000-00000000000']

/** Sessions whose lines were written at these times: one for each reply, and the last one for what follows. */
async function keepAt(folder: string, session: number, moments: readonly string[]): Promise<void> {
  const id = `${ids[session]}${moments.length}`
  const edits = moments.slice(1).map(() => toolReply(['Edit', { file_path: 'a' }]))
  await storeSession(id, [...edits, textReply('done')])
  mkdirSync(join(here(), folder), { recursive: true })
  let replies = -1
  const lines = readFileSync(sessionPath(id), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (line.includes('"type":"assistant"')) replies++
      const moment = moments[Math.max(0, replies)] ?? ''
      // The first line has it as a text, those of messages as milliseconds.
      const moved = line
        .replace(/"timestamp":"[^"]*"/, `"timestamp":"${moment}"`)
        .replace(/"timestamp":\d+/, () => `"timestamp":${Date.parse(moment)}`)
      return lineWithSum(moved.replace(/,"sum":"\w+"\}$/, ''))
    })
  writeFileSync(join(here(), folder, `${id}.jsonl`), lines.join(''))
}

interface BudgetAnswer {
  readonly answers: readonly { readonly session: string; readonly answer: WhatIf }[]
  readonly periods: readonly object[]
}

async function ask(folder: string, args: readonly string[], zone = 'UTC'): Promise<BudgetAnswer> {
  const { status, stdout, stderr } = await run(['what-if', folder, ...args, '--json'], { env: { TZ: zone } })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as BudgetAnswer
}

beforeAll(async () => {
  // Each request costs $1.10 and reserves two at most.
  await keepAt('days', 0, ['2026-10-24T20:00:30.000Z', '2026-10-24T21:30:30.000Z', '2026-10-25T22:30:30.000Z'])
  await keepAt('days', 1, ['2026-10-24T21:00:30.000Z', '2026-10-24T23:30:30.000Z'])
})

test('counts requests of all sessions on the day on which they started, even in a run that slept', async () => {
  const { answers, periods } = await ask('days', ['--budget-per-day', '5'])
  expect(answers.map(({ answer }) => [answer.verdict, answer.kept.turns])).toEqual([
    ['same', 3],
    ['stops', 1],
  ])
  expect(periods).toMatchObject([
    { period: '2026-10-24', recordedUsd: 4.4, spentUsd: 3.3, ended: 1, notMade: 1 },
    { period: '2026-10-25', recordedUsd: 1.1, spentUsd: 1.1, ended: 0 },
  ])
  expect(answers[1]?.answer.standing).toMatchObject({
    budget: '$5 a day',
    at: expect.stringContaining('2026-10-24T23:30:') as string,
    resetsAt: '2026-10-25T00:00:00+00:00',
  })
})

test('uses days of the local time zone, even if a clock is set back', async () => {
  const { periods } = await ask('days', ['--budget-per-day', '20'], 'Europe/Berlin')
  expect(periods).toMatchObject([
    { period: '2026-10-24', recordedUsd: 3.3 },
    { period: '2026-10-25', recordedUsd: 2.2 },
  ])
  const { answers } = await ask('days', ['--budget-per-day', '2.2'], 'Europe/Berlin')
  expect(answers.map(({ answer }) => answer.standing?.resetsAt)).toEqual([
    '2026-10-25T00:00:00+02:00',
    '2026-10-25T00:00:00+02:00',
  ])
})

test('applies several budgets at once, with model patterns; in words', async () => {
  const args = ['what-if', 'days', '--budget-per-month', '5', '--budget-per-day', '1:claude-opus-*']
  const { stdout } = await run(args, { env: { TZ: 'UTC' } })
  expect(stdout.replaceAll(/\d+\s(?:ms)|\d+\.\d\ss|\d+ h \d+ min/g, 'TIME')).toMatchInlineSnapshot(`
    "aaaaaaaa run1
      Would have stopped after 2 turns: max_budget_usd ($3.30 of $5.00) by the budget of $5 a month at
      2026-10-25 22:30, which resets at 2026-11-01 00:00; 1 request not made.
      Saves 1 turn, 1,100 tokens, $1.10, TIME.
      Loses the answer.
    bbbbbbbb run1
      Would have stopped after 1 turn: max_budget_usd ($3.30 of $5.00) by the budget of $5 a month at
      2026-10-24 23:30, which resets at 2026-11-01 00:00; 1 request not made.
      Saves 1 turn, 1,100 tokens, $1.10, TIME.
      Loses the answer.

    2 runs: 2 would have stopped, 0 the same, 0 not known. Saves 2 turns, 2,200 tokens, $2.20, TIME.
    Loses 2 answers.

    Budget of $5 a month
      2026-10  ████████████████░░░░░░░░  $3.30 of $5.50 spent, 2 runs ended, 2 requests not made

    Only these sessions count. Other sessions of the same days would have used the same budgets.
    "
  `)
})

test.each([
  [['--budget-per-day', '0'], 'a number of US dollars above 0'],
  [['--budget-per-day', 'NaN'], 'a number of US dollars above 0'],
  [['--budget-per-month', '-3'], '--budget-per-month'],
  [['--budget-per-month', '5:'], '--budget-per-month takes a number of US dollars above 0, optionally with a model'],
  [['--budget-per-day', '5', '--max-turns', '3'], 'cannot be combined with run limits or --suggest'],
  [['--budget-per-day', '5', '--suggest'], 'cannot be combined with run limits or --suggest'],
])('refuses %j', async (args, message) => {
  const { status, stderr } = await runHere(['what-if', 'days', ...args])
  expect(status).toBe(2)
  expect(stderr).toContain(message)
})

test('is unknown to runs', async () => {
  const { status, stderr } = await run(['-p', 'hello', '--budget-per-day', '5'])
  expect([status, stderr]).toEqual([2, expect.stringContaining('--budget-per-day belongs to halting what-if.')])
})

test('counts sessions of other programs on their days, too', async () => {
  const samples = join(import.meta.dirname, '../../analysis/test/foreign/samples')
  const { status, stdout } = await runHere(['what-if', samples, '--budget-per-day', '0.0001', '--json'], {
    env: { TZ: 'UTC' },
  })
  const { answers, periods } = JSON.parse(stdout) as BudgetAnswer
  const stopped = answers.filter(({ answer }) => answer.verdict === 'stops')
  expect([status, stopped.length > 0, periods.length > 0]).toEqual([0, true, true])
  const days = new Set(periods.map((each) => ('period' in each ? each.period : '')))
  for (const { answer } of stopped) expect(days).toContain(answer.standing?.at.slice(0, 10))
})

test.runIf(isDeep)(
  'needs the memory of the largest session for a folder of any size, and a few numbers per request',
  async () => {
    const folder = join(here(), 'many')
    await storeLargeSessions(folder, 25)
    // Too little for a hundred megabytes of calls.
    const env = { NODE_OPTIONS: '--max-old-space-size=64' }
    const { status, stdout } = await runHere(['what-if', folder, '--budget-per-day', '30', '--json'], { env })
    const { runs, periods } = JSON.parse(stdout) as BudgetAnswer & { readonly runs: number }
    expect([status, runs]).toEqual([0, 25])
    expect(periods).toMatchObject([{ budget: '$30 a day', ended: 25 }])
  },
)
