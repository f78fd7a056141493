// Holds R-LIM-2a, R-LIM-4b of docs/spec.
import { createMemorySteps, type LimitsChange, type StepRecord, startRun, streamRun } from '@halting/core'
import type { Session } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { describe, expect, test } from 'vitest'
import { withinManagedLimits, resumedWithin, withLimits } from '../../src/open-session/chosen-limits.ts'

test("nobody sets a limit above an administrator's while a session is open", () => {
  const changes: object[] = []
  // For a session, `set` is called.
  const session = withinManagedLimits({ set: (change: object) => void changes.push(change) } as unknown as Session, {
    managedLimits: { maxRunUsd: 5, maxTokens: 1_000, maxTurns: null },
  })
  session.set({ limits: { maxRunUsd: 5, maxTotalTokens: 900, maxTurns: null, maxToolCalls: 3 } })
  for (const limits of [{ maxRunUsd: 5.01 }, { maxRunUsd: null }, { maxTotalTokens: 1_001 }])
    expect(() => session.set({ limits })).toThrow(/is limited to \d+ by an administrator's settings/)
  expect(changes).toHaveLength(1)
})

test('reports and ignores a flag above it; applies a lower one', () => {
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
    ['--maxTurns is ignored: the settings limit it to 60. halting config shows which.'],
  ])
})

describe('a run of an earlier process, in which limits were set', () => {
  /** Its records until it was killed. */
  async function left(limits: LimitsChange): Promise<readonly StepRecord[]> {
    const steps = createMemorySteps()
    const look = {
      name: 'Look',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute() {
        running.set({ limits })
        return 'seen'
      },
    }
    const model = scriptedModel([{ toolCalls: [{ name: 'Look' }] }, 'done'])
    const running = streamRun(startRun({ prompt: 'go' }), { model, tools: [look], steps })
    await running.result
    return JSON.parse(JSON.stringify(steps.records.filter(({ type }) => type !== 'end'))) as readonly StepRecord[]
  }
  type Run = Parameters<typeof resumedWithin>[1]
  /** What is requested of the session after this, when it is resumed. */
  async function resumed(
    run: Partial<Run>,
    { areChoicesNew = true, before = () => {} }: { areChoicesNew?: boolean; before?: (session: Session) => void } = {},
  ): Promise<readonly unknown[]> {
    const open = await left({ maxTurns: 50, maxRunUsd: null, maxToolCalls: 3 })
    const asked: unknown[] = []
    const bare = {
      set: (change: object) => void asked.push(change),
      prompt: (content: string) => void asked.push(content),
      resume: (limits?: object) => void asked.push(limits ?? 'resume'),
    }
    const given: Run = { choices: {}, settings: {}, ...run }
    const session = resumedWithin(bare as unknown as Session, given, { open, areChoicesNew })
    before(session)
    session.resume()
    return asked
  }
  const choices = { maxTurns: 5, maxRunUsd: 2, maxToolCalls: 9, maxTokens: 7 }
  const limitSources = {
    maxTurns: 'choice',
    maxRunUsd: 'default',
    maxToolCalls: 'choice',
    maxTokens: 'choice',
  } as const

  test('continues with newly typed limits, and otherwise with those that were set', async () => {
    expect(await resumed({ choices, limitSources })).toEqual([{ limits: { maxTurns: 5, maxToolCalls: 9 } }, 'resume'])
    expect(await resumed({})).toEqual(['resume'])
    // The client that first opened a session stored elsewhere set it earlier.
    expect(await resumed({ choices, limitSources }, { areChoicesNew: false })).toEqual(['resume'])
  })

  test("exceeds no administrator's limit, and keeps lower ones", async () => {
    const managedLimits = { maxTurns: 20, maxRunUsd: 4, maxToolCalls: 8, maxTokens: 1 }
    for (const areChoicesNew of [true, false])
      expect(await resumed({ settings: { managedLimits } }, { areChoicesNew })).toEqual([
        { limits: { maxTurns: 20, maxRunUsd: 4 } },
        'resume',
      ])
  })

  test('continues with what a user sets before, and a new prompt ends it', async () => {
    const set = { limits: { maxTurns: 70 } }
    expect(await resumed({ choices, limitSources }, { before: (session) => session.set(set) })).toEqual([
      set,
      { limits: { maxToolCalls: 9 } },
      'resume',
    ])
    expect(await resumed({ choices, limitSources }, { before: (session) => void session.prompt('next') })).toEqual([
      'next',
      'resume',
    ])
  })
})
