import * as fc from 'fast-check'
import type { SessionRow } from '@halting/analysis/view'

/** A completed session with these changes. */
export function rowWith(given: Partial<SessionRow> = {}): SessionRow {
  const key = given.key ?? 'a'
  return {
    key,
    sessionId: `id-${key}`,
    program: 'halting',
    title: `title of ${key}`,
    cwd: '/work/one',
    path: null,
    changedAt: 1_700_000_000_000,
    isLive: false,
    ending: 'completed',
    exitCode: 0,
    models: ['claude-sonnet-5'],
    runs: 1,
    copiedRuns: 0,
    turns: 3,
    tokens: 1_000,
    costUsd: 0.01,
    unpriced: [],
    activeMs: 60_000,
    calls: 4,
    failedCalls: 0,
    ...given,
  }
}

const endings = [
  ['completed', 0],
  ['max_turns', 3],
  ['hook_stopped', 4],
  ['needs_approval', 5],
  ['model_error', 1],
  ['user_requested', 130],
  ['abandoned', null],
  [null, null],
] as const

/** Rows as a folder may have them, with unique keys. */
export const someRows: fc.Arbitrary<readonly SessionRow[]> = fc
  .array(
    fc.record({
      ended: fc.constantFrom(...endings),
      title: fc.constantFrom('Repair the parser', 'repair it', '<script>alert(1)</script>', ''),
      cwd: fc.constantFrom('/work/one', '/work/one/below', '/work/two', 'C:\\work'),
      program: fc.constantFrom('halting' as const, 'claude-code' as const, 'codex' as const),
      models: fc.subarray(['claude-sonnet-5', 'claude-opus-5', 'gpt']),
      changedAt: fc.option(fc.integer({ min: 0, max: 2e12 })),
      isLive: fc.boolean(),
      turns: fc.nat(500),
      tokens: fc.nat(5_000_000),
      nanos: fc.nat(2_000_000_000),
      activeMs: fc.nat(100_000_000),
      calls: fc.nat(900),
      failedCalls: fc.nat(20),
      unpriced: fc.subarray(['gpt']),
      problem: fc.option(fc.constant('torn'), { nil: undefined, freq: 8 }),
    }),
    { maxLength: 40 },
  )
  .map((all) =>
    all.map(({ ended: [ending, exitCode], nanos, problem, ...row }, index) =>
      rowWith({
        ...row,
        key: `k${index}`,
        ending,
        exitCode,
        costUsd: nanos / 1e9,
        ...(problem === undefined ? {} : { problem }),
      }),
    ),
  )
