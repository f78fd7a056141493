// Holds rules of docs/spec: R-LIM-65 to R-LIM-67, R-PAUSE-11c.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { installProgram, run, runHere } from './support/program.ts'

installProgram()

test('prints the likely figures first, then upper bounds with their reasons, without a key', async () => {
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
    '--max-tool-calls',
    '30',
  ])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(
    /^Likely with claude-sonnet-5-5:\n[^]+\n\nEvery run with these flags halts\. It cannot exceed:\n\n {2}cost +\$2\.00 {2}--max-budget-usd, reserved before each request\n/,
  )
  expect(stdout).toMatch(/\n {2}turns +5 {2}--max-turns\n/)
  expect(stdout).toMatch(/\n {2}tool calls +30 {2}--max-tool-calls\n/)
  expect(stdout).toMatch(/\n {2}tokens +200,000 {2}--max-tokens, reserved before each request\n/)
  expect(stdout).toMatch(/\n {2}time +10 min 0 s {2}--max-duration/)
})

test('says in words that no figure is useful, and which flag provides one (spec R-LIM-66)', async () => {
  const { stdout } = await runHere(['check', '--max-run-usd', 'none'])
  const words = (label: string, rest: string) => expect(stdout).toContain(`  ${label.padEnd(12)}     -  ${rest}\n`)
  words('cost', 'no limit; add --max-budget-usd')
  words('tokens', 'no limit; add --max-tokens or --max-budget-usd')
  words('tool calls', 'no limit; add --max-tool-calls')
  words('time', 'no limit; add --max-duration')
  words('requests', 'far above any real run: iterations, each with at most 11 attempts, and at most 50 subagents')
  expect(stdout).toMatch(/\n {2}turns +1,000 {2}default of --max-turns\n/)
  // A figure of billions is useless.
  expect(stdout).not.toMatch(/\d,\d{3},\d{3}/)
})

test("bounds tokens by the budget, too, at the lowest price of the run's models (spec R-LIM-60)", async () => {
  const tokens = async (...flags: string[]) =>
    /\n {2}tokens +(.*)\n/.exec((await runHere(['check', '--max-budget-usd', '2', ...flags])).stdout)?.[1]
  expect(await tokens()).toBe(
    '20,000,000  --max-budget-usd at $0.1 per million tokens, the lowest price of claude-sonnet-5-5',
  )
  expect(await tokens('--fallback-model', 'haiku')).toBe(
    '200,000,000  --max-budget-usd at $0.01 per million tokens, the lowest price of claude-haiku-5-5',
  )
  const free = { 'claude-haiku-5-5': { input: 0, output: 1 } }
  expect(await tokens('--fallback-model', 'haiku', '--settings', JSON.stringify({ modelPrices: free }))).toBe(
    '-  no limit; add --max-tokens',
  )
})

test('prints the default of $10 a run and how to remove it (spec R-LIM-68)', async () => {
  const { stdout } = await runHere(['check'])
  expect(stdout).toMatch(
    /\n {2}A long run has about \d+ turns, [\d.]+M tokens and \$[\d.]+; then --max-run-usd ends it\.\n/,
  )
  expect(stdout).toMatch(
    /\n {2}cost +\$10\.00 {2}default of --max-run-usd, reserved before each request; --max-run-usd none removes it\n/,
  )
  expect(stdout).toMatch(/\n {2}tokens +100,000,000 {2}default of --max-run-usd at \$0\.1 per million tokens, /)
  const own = await runHere(['check', '--settings', '{"limits":{"maxRunUsd":4}}'])
  expect(own.stdout).toMatch(/\n {2}cost +\$4\.00 {2}--max-run-usd, reserved before each request\n/)
  const json: unknown = JSON.parse((await runHere(['check', '--json'])).stdout)
  expect(json).toMatchObject({ usd: { value: 10, useful: true, default: true }, turns: { default: true } })
})

test('notes that a run which pauses at limits may have them raised, and waits for answers (spec R-PAUSE-11c)', async () => {
  const said = async (...flags: readonly string[]): Promise<string | undefined> =>
    /The run pauses at its limits. .*/.exec((await runHere(['check', ...flags])).stdout)?.[0]
  const pauses = 'The run pauses at its limits. A limit that a person raises there replaces the option. '
  expect(await said('--on-limit', 'pause')).toBe(`${pauses}Without --pause-for it waits for an answer indefinitely.`)
  expect(await said('--on-limit', 'pause', '--settings', '{"pauseFor":"3m"}')).toBe(
    `${pauses}It ends if no answer arrives within --pause-for (3 min 0 s).`,
  )
  expect(await said('--settings', '{"onLimit":"pause"}')).toBeUndefined()
})

test('bounds a model without a price only in tokens and turns', async () => {
  const { stdout } = await runHere(['check', '--model', 'ollama/llama3'])
  expect(stdout).toMatch(/\n {2}A run of 10 turns uses about [\d.]+k tokens, one of 50 turns about [\d.]+M tokens\.\n/)
  expect(stdout).toContain('  -  no limit: no price is known for ollama/llama3\n')
  expect(stdout).toMatch(/\n {2}turns +200 {2}default of --max-turns for a model without a price\n/)
  expect(stdout).toContain('  -  no limit; add --max-tokens\n')
})

test('matches the quotes in the guide', async () => {
  const guide = readFileSync(new URL('../../../docs/guide/stopping.md', import.meta.url), 'utf8')
  const [, flags = '', quoted = ''] = /\n```\nhalting check (.*)\n```\n\n```text\n([^`]*)```\n/.exec(guide) ?? []
  const { stdout } = await runHere(['check', ...flags.split(' ')])
  // The likely figures depend on the machine and the date, which are in the system prompt.
  const steady = (text: string) => text.replaceAll(/ about [\d$,.]+| [\d.]+[kM] tokens| and \$[\d.]+;/g, ' #')
  expect(steady(stdout)).toBe(steady(quoted))
})

test('prints the certificate as JSON', async () => {
  const { status, stdout } = await runHere([
    'check',
    '--output-format',
    'json',
    '--max-turns',
    '5',
    '--max-tokens',
    '1000',
  ])
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    halts: true,
    turns: { bounded: true, value: 5, because: 'maxTurns', useful: true },
    requests: { bounded: true, useful: false },
    tokens: { bounded: true, value: 1000, because: 'maxTokens, reserved before each request', useful: true },
    seconds: { bounded: false, add: ['--max-duration'] },
  })
})

test('prints the goals, and how often and how long they may be checked (spec R-GOAL-66)', async () => {
  const args = ['check', '--until', 'test -e a', '--goal', 'It works.', '--until-tries', '3', '--until-timeout', '90s']
  const { status, stdout, stderr } = await runHere([...args, '--until-stable', '2', '--stop-when-met'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(
    [
      'Done when (with at most 3 tries):',
      '  this exits with 0 2 times in a row (time limit 1 min 30 s): test -e a',
      '  a model confirms 2 times in a row (time limit 1 min 30 s): It works.',
      'Also checked after each turn that changed something.',
    ].join('\n'),
  )
  expect(JSON.parse((await runHere([...args, '--json'])).stdout)).toMatchObject({
    maxGoalTries: 3,
    goals: [
      { name: 'test -e a', timeoutMs: 90_000, stable: 1 },
      { name: 'It works.', judged: true },
    ],
  })
  const refused = await runHere(['check', '--until', 'no-such-program'])
  expect({ ...refused, stderr: refused.stderr.slice(0, 30) }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'halting: The goal `no-such-pro',
  })
})

test('refuses what a run would refuse', async () => {
  expect(await runHere(['check', '--max-turns', 'many'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'halting: --max-turns takes a whole number of at least 1, not "many".\n',
  })
})

test('takes no prompt', async () => {
  expect((await runHere(['check', 'the', '-p'])).status).toBe(2)
})

test('forecasts a run, and names the flag that ends it', async () => {
  const { stdout } = await runHere(['check', '--max-turns', '5', '--max-budget-usd', '20'])
  expect(stdout).toMatch(
    /\n {2}A long run has about 5 turns, [\d.]+k tokens and \$[\d.]+; then --max-turns ends it\.\n {2}A turn is one request/,
  )
  // A budget flag replaces the default.
  expect(stdout).toMatch(/\n {2}cost +\$20\.00 {2}--max-budget-usd, reserved before each request\n/)
  const spent = await runHere(['check', '--max-budget-usd', '2'])
  expect(spent.stdout).toMatch(/\n {2}A run of 10 turns costs about \$[\d.]+, one of 50 turns about \$[\d.]+\.\n/)
  expect(spent.stdout).toMatch(/ about \d+ turns, .*; then --max-budget-usd ends it\.\n/)
  const alone = await runHere(['check', '--max-budget-usd', '3', '--max-run-usd', '1'])
  expect(alone.stdout).toMatch(/ about \d+ turns, .*; then --max-run-usd ends it\.\n/)
  expect(alone.stdout).toMatch(/\n {2}cost +\$1\.00 {2}--max-run-usd, reserved before each request\n/)
})

test('names the flag that would help if no request fits', async () => {
  const { status, stdout } = await runHere(['check', '--max-budget-usd', '0.001', '--max-tokens', '500'])
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /^claude-sonnet-5-5 cannot start with --max-budget-usd 0\.001: its first request needs \$[\d.]+\.\nSet --max-budget-usd [\d.]+ or more, or choose a cheaper model with --model\.\n/,
  )
  expect(stdout).toMatch(
    /\nclaude-sonnet-5-5 cannot start with --max-tokens 500: its first request needs [\d,]+ tokens\.\nSet --max-tokens \d+ or more\.\n\nEvery run/,
  )
})

test('prints the forecast as JSON', async () => {
  const { stdout } = await runHere(['check', '--output-format', 'json', '--max-budget-usd', '0.001'])
  expect(JSON.parse(stdout)).toMatchObject({
    forecast: {
      model: 'claude-sonnet-5-5',
      canBegin: false,
      likely: { turns: 0, endsBy: 'maxBudgetUsd' },
      shorter: [],
    },
  })
})
