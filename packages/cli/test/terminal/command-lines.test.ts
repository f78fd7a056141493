// Lines that begin with a slash or a bang (spec R-TERM-67), and `/limits` (R-TERM-68).
import { describe, expect, test } from 'vitest'
import { parseLimitsArgument } from '../../src/frontends/limits-argument.ts'
import { parseSlashCommand } from '../../src/terminal/app/submit.ts'
import { shellCommandIn, runShellCommand, modelReport } from '../../src/terminal/shell/shell-command.ts'

const inForce = {
  maxTurns: 40,
  maxBudgetUsd: 1,
  maxTotalTokens: null,
  maxDurationMs: null,
  maxRunUsd: null,
  maxToolCalls: null,
  maxGoalTries: 10,
}

describe('/limits', () => {
  test.each([
    ['turns 60', { maxTurns: 60 }],
    ['turns +20', { maxTurns: 60 }],
    ['usd 2.50', { maxBudgetUsd: 2.5 }],
    ['usd $2', { maxBudgetUsd: 2 }],
    ['usd +0.5', { maxBudgetUsd: 1.5 }],
    ['tokens 500k', { maxTotalTokens: 500_000 }],
    ['time 10m', { maxDurationMs: 600_000 }],
    ['run-usd $7', { maxRunUsd: 7 }],
    ['run-usd none', { maxRunUsd: null }],
    ['calls 30', { maxToolCalls: 30 }],
    ['turns none', { maxTurns: null }],
    ['tries 20', { maxGoalTries: 20 }],
    ['tries +5', { maxGoalTries: 15 }],
  ])('%s', (argument, change) => {
    expect(parseLimitsArgument(argument, inForce)).toMatchObject({ kind: 'change', change })
  })
  test.each([
    '',
    'turns',
    'turns x',
    'turns -3',
    'turns 0',
    'frogs 3',
    'turns 3 4',
    'tokens +3',
    'usd NaN',
    'tries none',
    'tries 1001',
    'tries +991',
  ])('%j is rejected with the usage', (argument) => {
    expect(parseLimitsArgument(argument, inForce)).toMatchObject({ kind: 'wrong', says: expect.stringMatching(/\w/) })
  })
  test('a session without a goal has no tries to set', () => {
    expect(parseLimitsArgument('tries 3', { ...inForce, maxGoalTries: null })).toMatchObject({
      says: expect.stringContaining('/until'),
    })
  })
  test('reports the new and the previous value', () => {
    expect(parseLimitsArgument('turns +20', inForce)).toMatchObject({ says: '60 turns (before: 40 turns).' })
    const dollars = { ...inForce, maxRunUsd: 10, maxBudgetUsd: null }
    expect(parseLimitsArgument('run-usd 0.5', dollars)).toMatchObject({ says: '$0.5000 a run (before: $10.00).' })
    expect(parseLimitsArgument('usd 20', dollars)).toMatchObject({ says: '$20.00 for the session (before: no limit).' })
  })
})

describe('a line', () => {
  test.each([
    ['/help', { kind: 'own', name: 'help', argument: '' }],
    [' /limits turns 60 ', { kind: 'own', name: 'limits', argument: 'turns 60' }],
    ['/fix-issue 12', { kind: 'written', name: 'fix-issue' }],
    ['/etc/hosts is what?', { kind: 'prompt' }],
    ['hello /help', { kind: 'prompt' }],
    ['/', { kind: 'prompt' }],
    ['/hepl', { kind: 'unknown', says: 'Unknown command /hepl. Did you mean /help?' }],
    ['/zzzzzz', { kind: 'unknown', says: 'Unknown command /zzzzzz. /help lists the commands.' }],
  ])('%j is parsed', (text, expected) => {
    expect(parseSlashCommand(text, ['help', 'limits'], ['fix-issue'])).toEqual(expected)
  })
  test.each([
    ['!ls -l', { command: 'ls -l', isForModel: true }],
    ['!!ls', { command: 'ls', isForModel: false }],
    [' ! a\nb', { command: 'a\nb', isForModel: true }],
    ['!', undefined],
    ['what! now', undefined],
  ])('%j is parsed as a shell command', (text, expected) => {
    expect(shellCommandIn(text)).toEqual(expected)
  })
})

describe('a shell command of the person', () => {
  const run = (command: string, signal = new AbortController().signal): ReturnType<typeof runShellCommand> =>
    runShellCommand(command, { cwd: '/', env: process.env, signal, onOutput: () => undefined })

  test('reports both streams and how it ended', async () => {
    expect(await run('echo one; echo two >&2; exit 3')).toEqual({ output: 'one\ntwo\n', failed: 'exit code 3' })
    expect(await run('true')).toEqual({ output: '', failed: undefined })
  })
  test('that is stopped ends with all its processes', async () => {
    const controller = new AbortController()
    const ran = run('sleep 600 & sleep 600', controller.signal)
    controller.abort()
    expect(await ran).toEqual({ output: '', failed: 'stopped' })
  })
  test('whose background process holds the output open is not awaited', async () => {
    const { output, failed } = await run('echo $$; sleep 60 & true')
    process.kill(-Number(output.trim()), 'SIGKILL')
    expect(failed).toBeUndefined()
  })
  test('with much output is shown with its beginning and end', async () => {
    const { output } = await run('seq 1 100000')
    expect(output.length).toBeLessThan(31_000)
    expect(output).toMatch(/^1\n2\n[\s\S]*characters left out[\s\S]*99999\n100000\n$/)
  })
  test('is sent to the model as an action of the user', () => {
    const text = modelReport({ command: 'ls', isForModel: true }, { output: ' \n', failed: 'exit code 2' })
    expect(text).toBe('The user ran this command themselves:\n$ ls\n(it printed nothing)\n(exit code 2)')
  })
})
