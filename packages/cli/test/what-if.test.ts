// Holds rules of docs/spec: R-IF-1, R-IF-6 to R-IF-8.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WhatIf } from '@halting/analysis'
import { beforeAll, expect, test } from 'vitest'
import { isDeep } from '../../agent/test/support/deep.ts'
import { here, installProgram, run, runHere } from './support/program.ts'
import { toolReply, storeSession, storeLargeSessions, textReply, sessionPath } from './support/store-session.ts'

installProgram()

const [good, circling] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

beforeAll(async () => {
  await storeSession(good, [
    toolReply(['Read', { file_path: 'a' }]),
    toolReply(['Edit', { file_path: 'a' }]),
    textReply('done'),
  ])
  const looks = Array.from({ length: 30 }, () => toolReply(['Read', { file_path: 'same' }]))
  await storeSession(circling, [toolReply(['Edit', { file_path: 'b' }]), ...looks], { maxTurns: 25 })
})

/** Line breaks depend on the length of the time. */
const timeless = (text: string): string =>
  text.replaceAll(/\d+\s(?:ms)|\d+\.\d\ss/g, 'TIME').replaceAll(/\n(?=Loses|TIME)/g, ' ')

test('says for each run where it would have stopped, with totals', async () => {
  const { status, stdout, stderr } = await run(['what-if', good, circling, '--max-turns', '2'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(timeless(stdout)).toBe(
    [
      'aaaaaaaa run1',
      '  Would have stopped after 2 turns: max_turns (2 of 2).',
      '  Saves 1 turn, 1,100 tokens, $1.10, TIME.',
      '  Loses the answer.',
      'bbbbbbbb run1',
      '  Would have stopped after 2 turns: max_turns (2 of 2).',
      '  Saves 23 turns, 25,300 tokens, $25.30, TIME.',
      '',
      '2 runs: 2 would have stopped, 0 the same, 0 not known. Saves 24 turns, 26,400 tokens, $26.40, TIME. Loses 1 answer.',
      '',
    ].join('\n'),
  )
})

test('lists runs that would have been the same, and runs whose course is not known', async () => {
  const same = await runHere(['what-if', good, '--max-turns', '3', '--max-duration', '1h'])
  expect(same.stdout).toBe('aaaaaaaa run1\n  No change: completed after 3 turns.\n')
  const beyond = await runHere(['what-if', circling, '--max-turns', '26'])
  expect(beyond.stdout).toContain('Unknown: the record ends after 25 turns; the run might have continued.')
})

test('reads the sessions of a folder, and not the undo data next to them', async () => {
  const path = sessionPath(good)
  const folder = path.slice(0, -'.jsonl'.length)
  mkdirSync(join(folder, 'files'), { recursive: true })
  writeFileSync(join(folder, 'files', 'changes.jsonl'), '{"kind":"file"}\n')
  const { status, stdout } = await runHere(['what-if', join(path, '..'), '--max-turns', '2', '--json'])
  const { runs, skipped } = JSON.parse(stdout) as { readonly runs: number; readonly skipped: readonly string[] }
  expect({ status, runs, skipped }).toEqual({ status: 0, runs: 2, skipped: [] })
})

test('reports repetition with the turn after which the model would have been reminded', async () => {
  const { stdout } = await runHere(['what-if', circling, '--no-progress'])
  expect(stdout).toContain('Would have stopped after 6 turns: no_progress (5 of 5); the model is warned after')
})

test('reads all sessions in a folder, and counts unreadable files', async () => {
  const folder = join(here(), 'kept')
  mkdirSync(join(folder, 'below'), { recursive: true })
  copyFileSync(sessionPath(good), join(folder, 'one.jsonl'))
  copyFileSync(sessionPath(circling), join(folder, 'below', 'two.jsonl'))
  writeFileSync(join(folder, 'other.jsonl'), '{"no":"session"}\n')
  const { status, stdout } = await runHere(['what-if', 'kept', '--max-turns', '1', '--json'])
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    limits: { maxTurns: 1 },
    runs: 2,
    answers: [{ answer: { verdict: 'stops' } }, { answer: { verdict: 'stops' } }],
    skipped: [expect.stringContaining('other.jsonl')],
  })
  expect((await runHere(['what-if', 'kept', '--max-turns', '1'])).stdout).toContain('Not read: 1 file.')
})

test('finds with --suggest the limits that save most and lose nothing, over all sessions of the folder', async () => {
  const { stdout } = await runHere(['what-if', '--suggest'])
  expect(timeless(stdout)).toContain(
    [
      'In 2 runs these would have lost nothing:',
      '  --max-turns 3',
      '    stops 1 run earlier, saves 22 turns, 24,200 tokens, $24.20, TIME',
      '  --max-tool-calls 2',
      '    stops 1 run earlier, saves 22 turns, 24,200 tokens, $24.20, TIME',
      '  --no-progress',
      '    stops 1 run earlier, saves 19 turns, 20,900 tokens, $20.90, TIME',
    ].join('\n'),
  )
})

test.each([
  [['what-if'], 'Name at least one limit: --max-turns'],
  [['what-if', 'zzzz', '--max-turns', '3'], 'No conversation found with session ID: zzzz.'],
  [['check', '--suggest'], '--suggest belongs to halting what-if.'],
  [['-p', 'hello', '--no-progress'], '--no-progress belongs to halting what-if.'],
])('refuses %j', async (args, message) => {
  const { status, stderr } = await run(args)
  expect(status).toBe(2)
  expect(stderr).toContain(message)
})

test.runIf(isDeep)('needs the memory of the largest session for a folder of any size', async () => {
  const folder = join(here(), 'many')
  await storeLargeSessions(folder, 25)
  // Too little for a hundred megabytes of calls.
  const env = { NODE_OPTIONS: '--max-old-space-size=64' }
  const { status, stdout } = await runHere(['what-if', folder, '--max-turns', '20', '--suggest', '--json'], { env })
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { runs: 25, suggested: [] }])
})

test('predicts where a budget stops a run with the same course, and lists lost changes by tool', async () => {
  const script = [toolReply(['Read', { file_path: 'a' }]), toolReply(['Edit', { file_path: 'a' }]), textReply('done')]
  for (const [index, maxBudgetUsd] of [2, 3, 5, 8].entries()) {
    const { reason, summary } = await storeSession(`cccccccc-0000-4000-8000-00000000000${index}`, script, {
      maxBudgetUsd,
    })
    const { stdout } = await runHere(['what-if', good, '--max-budget-usd', `${maxBudgetUsd}`, '--json'])
    const { answers } = JSON.parse(stdout) as { readonly answers: readonly { readonly answer: WhatIf }[] }
    const { answer } = answers[0] ?? {}
    expect([answer?.reason, answer?.kept.turns, answer?.isAtTheLatest]).toEqual([reason, summary.turns, false])
  }
  const { stdout } = await runHere(['what-if', good, '--max-budget-usd', '3'])
  expect(timeless(stdout)).toContain('Would have stopped after 1 turn: max_budget_usd ($1.10 of $3.00).')
  expect(stdout).toContain('Loses 1 call of Edit, the answer.')
})
