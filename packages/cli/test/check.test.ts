import { expect, test } from 'vitest'
import { installProgram, run } from './support/program.ts'

installProgram()

test('check prints what a run cannot exceed, without a key', async () => {
  const { status, stdout, stderr } = await run([
    'check',
    '--max-turns',
    '5',
    '--max-budget-usd',
    '2',
    '--max-tokens',
    '200k',
    '--max-duration',
    '10m',
  ])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^Every run with these flags halts\. It cannot exceed \(model claude-sonnet-5-5\):\n\n/)
  expect(stdout).toMatch(/\n {2}turns +5 {2}maxTurns\n/)
  expect(stdout).toMatch(/\n {2}tokens +200,000 {2}maxTokens/)
  expect(stdout).toMatch(/\n {2}cost +\$2\.00 {2}maxBudgetUsd/)
  expect(stdout).toMatch(/\n {2}time +10 min 0 s {2}maxDurationMs/)
})

test('check says which bound is missing and why', async () => {
  expect((await run(['check'])).stdout).toMatch(/\n {2}time +no bound {2}maxDurationMs is not set/)
})

test('check gives the certificate as JSON', async () => {
  const { status, stdout } = await run(['check', '--output-format', 'json', '--max-turns', '5', '--max-tokens', '1000'])
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    halts: true,
    turns: { bounded: true, value: 5, because: 'maxTurns' },
    tokens: { bounded: true, value: 1000, because: 'maxTokens, reserved before each request' },
    seconds: { bounded: false },
  })
})

test('check names the goals, and how often and how long they may be checked (spec R-GOAL-66)', async () => {
  const args = ['check', '--until', 'test -e a', '--goal', 'It works.', '--until-tries', '3', '--until-timeout', '90s']
  const { status, stdout, stderr } = await run([...args, '--until-stable', '2', '--stop-when-met'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(
    [
      'It is done when, with at most 3 tries:',
      '  this exits with 0, 2 times in a row, within 1 min 30 s each time: test -e a',
      '  a model finds, 2 times in a row, within 1 min 30 s each time: It works.',
      'It is checked after each turn that changed something, too.',
    ].join('\n'),
  )
  expect(JSON.parse((await run([...args, '--json'])).stdout)).toMatchObject({
    maxGoalTries: 3,
    goals: [
      { name: 'test -e a', timeoutMs: 90_000, stable: 1 },
      { name: 'It works.', judged: true },
    ],
  })
  const refused = await run(['check', '--until', 'no-such-program'])
  expect({ ...refused, stderr: refused.stderr.slice(0, 30) }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'halting: The goal `no-such-pro',
  })
})

test('check refuses what a run would refuse', async () => {
  expect(await run(['check', '--max-turns', 'many'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'halting: --max-turns takes a whole number of at least 1, not "many".\n',
  })
})

test('check takes no prompt', async () => {
  expect((await run(['check', 'the', '-p'])).status).toBe(2)
})

test('check forecasts what a run is likely to come to, and which flag ends it', async () => {
  const { stdout } = await run(['check', '--max-turns', '5', '--max-budget-usd', '20'])
  expect(stdout).toMatch(
    /\nA long run is likely to have about 5 turns, [\d,]+ tokens and about \$[\d.]+: --max-turns ends it\.\n/,
  )
  const spent = await run(['check', '--max-budget-usd', '1'])
  expect(spent.stdout).toMatch(/about \d+ turns, .*: --max-budget-usd ends it\.\n/)
})

test('check says what is missing where no request fits, by flag', async () => {
  const { status, stdout } = await run(['check', '--max-budget-usd', '0.001', '--max-tokens', '500'])
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /\nAt --max-budget-usd 0\.001 claude-sonnet-5-5 cannot begin; it needs \$[\d.]+\.\nGive --max-budget-usd [\d.]+ or more, or name a cheaper model with --model\.\n/,
  )
  expect(stdout).toMatch(
    /\nAt --max-tokens 500 claude-sonnet-5-5 cannot begin; it needs [\d,]+ tokens\.\nGive --max-tokens \d+ or more\.\n$/,
  )
})

test('check gives the forecast as JSON', async () => {
  const { stdout } = await run(['check', '--output-format', 'json', '--max-budget-usd', '0.001'])
  expect(JSON.parse(stdout)).toMatchObject({
    forecast: { model: 'claude-sonnet-5-5', canBegin: false, likely: { turns: 0, endsBy: 'maxBudgetUsd' } },
  })
})
