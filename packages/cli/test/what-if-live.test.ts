// Holds R-IF-3 and R-IF-4 of docs/spec with the real program: what `halting what-if` says of a limit is the effect of that limit on the same script.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Account, WhatIf } from '@halting/analysis'
import { expect, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const bash = (command: string): object => ({ type: 'tool_use', name: 'Bash', input: { command } })
const long = (words: number): string => 'word '.repeat(words)
const overloaded = { error: { status: 529, message: 'Overloaded', headers: { 'retry-after': '0' } } }

/** Long replies, a retry, and a stream that breaks. */
const script = {
  model: 'claude-haiku-4-5',
  replies: [
    { content: [long(300), bash('echo a >> out.txt')] },
    overloaded,
    { content: [bash('seq 1 400')] },
    { content: [long(8_000), bash('echo b >> out.txt')] },
    { content: [long(40), 'more'], fault: { kind: 'drop', at: 'start' } },
    { content: [bash('echo c >> out.txt')] },
    { content: long(60) },
  ],
}

interface Ended {
  readonly file: string
  readonly account: Account
}

/** Runs the script in a separate session. */
async function played(name: string, flags: readonly string[]): Promise<Ended> {
  const [cwd, home] = [join(here(), 'work', name), join(here(), 'home', name)]
  mkdirSync(cwd, { recursive: true })
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'script.json'), JSON.stringify(script))
  // Limit information for the model is not part of the question (R-LIM-79).
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ limitReminders: false }))
  const environment = { cwd, env: { HALTING_CONFIG_DIR: home } }
  const asked = ['-p', 'go', '--script', join(home, 'script.json'), '--permission-mode', 'bypassPermissions']
  await run([...asked, ...flags], environment)
  const { stdout } = await run(['why', '--json'], environment)
  const { file, runs } = JSON.parse(stdout) as { readonly file: string; readonly runs: readonly [Account] }
  return { file, account: runs[0] }
}

/** A token of input. */
const usdEach = 1.01e-6

const limits = [
  ['--max-turns', '2'],
  ['--max-turns', '5'],
  ...['0.004', '0.012', '0.03', '0.06', '0.09', '0.2', '0.9'].map((usd) => ['--max-budget-usd', usd] as const),
  ...['4k', '9k', '18k', '40k', '60k', '200k'].map((tokens) => ['--max-tokens', tokens] as const),
] as const

test('predicts the effect of a limit', async () => {
  // Names of one length, since the folder is part of the request.
  const whole = await played('run-99', [])
  expect(whole.account.ending?.reason).toBe('completed')
  const reasons = new Set<string>()
  for (const [index, flags] of limits.entries()) {
    const { stdout } = await run(['what-if', whole.file, ...flags, '--json'])
    const { answers } = JSON.parse(stdout) as { readonly answers: readonly [{ readonly answer: WhatIf }] }
    const { reason, kept, isAtTheLatest } = answers[0].answer
    const { account } = await played(`run-${10 + index}`, flags)
    const { totals, ending } = account
    reasons.add(`${ending?.reason} ${totals.turns}`)
    expect([flags, reason, kept.turns, isAtTheLatest]).toEqual([flags, ending?.reason, totals.turns, false])
    // The cap of a reply is part of the request, and a shorter number may be a token less.
    const tokens = totals.requests
    expect(Math.abs(kept.tokens - totals.tokens)).toBeLessThanOrEqual(tokens)
    expect(Math.abs(kept.costUsd - totals.costUsd)).toBeLessThanOrEqual(tokens * usdEach)
    expect(Math.abs(kept.costUsd + kept.unknownUsd - totals.committedUsd)).toBeLessThanOrEqual(tokens * usdEach)
  }
  expect(reasons.size).toBeGreaterThan(6)
})
