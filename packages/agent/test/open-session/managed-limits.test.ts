// Holds R-LIM-2a of docs/spec.md.
import type { Session } from '@halting/core/session'
import { expect, test } from 'vitest'
import { heldToManaged, withLimits } from '../../src/open-session/chosen-limits.ts'

test("nobody sets a limit beyond an administrator's while a session is open", () => {
  const changes: object[] = []
  // Of a session it is `set` that is asked.
  const session = heldToManaged({ set: (change: object) => void changes.push(change) } as unknown as Session, {
    managedLimits: { maxRunUsd: 5, maxTokens: 1_000, maxTurns: null },
  })
  session.set({ limits: { maxRunUsd: 5, maxTotalTokens: 900, maxTurns: null, maxToolCalls: 3 } })
  for (const limits of [{ maxRunUsd: 5.01 }, { maxRunUsd: null }, { maxTotalTokens: 1_001 }])
    expect(() => session.set({ limits })).toThrow(/is at most \d+ by an administrator's settings/)
  expect(changes).toHaveLength(1)
})

test('a flag beyond it is named and does not count; a lower one does', () => {
  const settings = { limits: { maxTurns: 50, maxRunUsd: null }, managedLimits: { maxTurns: 60, maxRunUsd: null } }
  const limited = (choices: object): readonly unknown[] => {
    const warnings: string[] = []
    const rules = { choicesMayRaise: true, nameOf: (name: string) => `--${name}` }
    const { choices: made, limitSources } = withLimits(choices, settings, rules, warnings)
    return [made, limitSources, warnings]
  }
  expect(limited({ maxTurns: 55, maxRunUsd: 3 })).toEqual([
    { maxTurns: 55, maxRunUsd: 3 },
    { maxTurns: 'choice', maxRunUsd: 'choice' },
    [],
  ])
  expect(limited({ maxTurns: 61 })).toEqual([
    { maxTurns: 50, maxRunUsd: Infinity },
    { maxTurns: 'settings', maxRunUsd: 'settings' },
    ['--maxTurns does not count: the settings limit it to 60, which it may not exceed; halting config tells which.'],
  ])
})
