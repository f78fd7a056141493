// Sums over many runs are built from each recorded request and each recorded call.
import { describe, expect, test } from 'vitest'
import { accountOf } from '../../src/account/account.ts'
import { recordedWork, type RecordedWork } from '../../src/account/recorded-work.ts'
import { unreportedUsageIn } from '../../src/why/unreported-usage.ts'
import { agentTool, resume, type RunOptions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { calls, dollarATokenPrices, hook, json, reader, run, tool } from '../../../core/test/support/harness.ts'
import { killedBefore } from '../../../core/test/support/kill-process.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const callReply = (...names: readonly string[]) => ({ ...calls(...names), usage })

const failing = tool('Break', () => {
  throw new Error('broken')
})

async function recorded(
  script: Parameters<typeof run>[0],
  options: Partial<RunOptions> = {},
): Promise<{ readonly work: RecordedWork; readonly records: readonly StepRecord[] }> {
  const { steps } = await run(script, {
    clock: createFakeClock({ autoAdvance: true }),
    prices: dollarATokenPrices,
    tools: [reader('Look', () => 'seen'), tool('Write', () => 'written'), failing],
    ...options,
  } as never)
  // The records as a session file stores them.
  const records = json(steps.records) as never as readonly StepRecord[]
  return { work: recordedWork(records), records }
}

const callStatuses = ({ calls: made }: RecordedWork) => made.map(({ tool: name, status }) => [name, status])

describe('recorded calls', () => {
  test('include succeeded calls, failed calls and calls of unknown tools', async () => {
    const { work } = await recorded([callReply('Look', 'Break', 'Nothing'), { text: 'ok', usage }])
    expect(callStatuses(work)).toEqual([
      ['Look', 'done'],
      ['Break', 'failed'],
      ['Nothing', 'invalid'],
    ])
  })

  test('include calls that rules, a mode or a person denied', async () => {
    const { work } = await recorded([callReply('Look', 'Write'), { text: 'ok', usage }], {
      permissions: {
        denies: ({ call }) => (call.name === 'Write' ? 'never' : undefined),
        decide: () => ({ behavior: 'deny', message: 'not now' }),
      },
    })
    expect(callStatuses(work)).toEqual([
      ['Look', 'denied'],
      ['Write', 'denied'],
    ])
  })
})

describe('calls are distinguished', () => {
  const agent = agentTool({
    name: 'Agent',
    description: 'a subagent',
    readOnly: true,
    spawn: () => ({ prompt: 'look around' }),
  })

  test('by agent, even where agents use the same ids', async () => {
    const script = [
      calls({ name: 'Agent', id: 'x' }, { name: 'Look', id: 'y' }),
      calls({ name: 'Nothing', id: 'x' }, { name: 'Break', id: 'y' }),
      'seen',
      'ok',
    ]
    const { work } = await recorded(script, { tools: [agent, reader('Look', 'seen'), failing] })
    expect(work.calls).toEqual([
      { scope: '', id: 'x', tool: 'Agent', status: 'done' },
      { scope: '', id: 'y', tool: 'Look', status: 'done' },
      { scope: 'agent:1:0:x/', id: 'x', tool: 'Nothing', status: 'invalid' },
      { scope: 'agent:1:0:x/', id: 'y', tool: 'Break', status: 'failed' },
    ])
  })

  test('by the records of their steps, where the result text says less', async () => {
    const options = (): RunOptions => ({
      model: scriptedModel([calls('Write'), 'ok']),
      tools: [tool('Write', 'written')],
      clock: createFakeClock({ autoAdvance: true }),
    })
    const records = await killedBefore((record) => record.type === 'result' && record.key.includes('tool:'), options())
    const { loop, steps } = resume(records, { ...options(), model: scriptedModel(['ok']) })
    await loop.result
    expect(callStatuses(recordedWork(json(steps.records) as never))).toEqual([['Write', 'unknown']])
  })

  test('by denial before hooks, by changed input, and by the permission check that asked a model', async () => {
    const isForbidden = (input: unknown): boolean => JSON.stringify(input).includes('secret')
    const { work } = await recorded([callReply('Write'), { text: 'ok', usage }], {
      hooks: [hook('beforeToolUse', () => undefined)],
      permissions: {
        denies: ({ call }) => (call.name === 'Write' ? 'never' : undefined),
        decide: () => ({ behavior: 'allow' }),
      },
    })
    expect(callStatuses(work)).toEqual([['Write', 'denied']])
    const changed = await recorded([callReply('Write'), { text: 'ok', usage }], {
      permissions: {
        denies: ({ call }) => (isForbidden(call.input) ? 'never' : undefined),
        decide: () => ({ behavior: 'allow', updatedInput: { path: 'secret' } }),
      },
    })
    expect(callStatuses(changed.work)).toEqual([['Write', 'denied']])
    const judged = await recorded([callReply('Write'), { text: 'no', usage }, { text: 'ok', usage }], {
      permissions: {
        denies: () => undefined,
        onlyInTurn: () => true,
        async decide({ ask }) {
          const messages = [{ role: 'user', content: 'May it?' }] as const
          const reply = await ask?.({ system: 'Judge.', messages, maxOutputTokens: 100 })
          return { behavior: 'deny', message: reply?.kind ?? 'nobody to ask' }
        },
      },
    })
    expect(callStatuses(judged.work)).toEqual([['Write', 'denied']])
  })
})

describe('recorded requests', () => {
  test('have a model, an outcome and a charge for each attempt', async () => {
    const overloaded = { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const
    const { work, records } = await recorded([overloaded, callReply('Look'), { text: 'ok', usage }])
    expect(
      work.requests.map(({ name, outcome: came, failure, nanos, isAtWorst }) => [
        name,
        came,
        failure,
        nanos,
        isAtWorst,
      ]),
    ).toEqual([
      ['model:1', 'failed', 'overloaded', 0, false],
      ['model:1', 'answered', null, 110e9, false],
      ['model:2', 'answered', null, 110e9, false],
    ])
    expect(work.requests[1]?.usage).toMatchObject(usage)
    const { totals } = accountOf(records)
    expect(work.requests.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9).toBe(totals.costUsd)
  })

  test('charge a broken stream at worst case and mark it', async () => {
    const broken = { ...callReply('Look'), streamError: { kind: 'connection', message: 'gone' } } as const
    const { work, records } = await recorded([broken, { text: 'ok', usage }])
    const [first, second] = work.requests
    expect([first?.isAtWorst, second?.isAtWorst]).toEqual([true, false])
    const { totals } = accountOf(records)
    expect((first?.nanos ?? 0) / 1e9).toBe(totals.committedUsd - totals.costUsd)
  })

  test.each([{ maxBudgetUsd: 1e6 }, {}])('include the possible cost of an open request: %o', async (limits) => {
    const { records } = await recorded([callReply('Look'), { text: 'ok', usage }], limits)
    const at = records.findIndex((record) => record.type === 'intent' && record.key.endsWith('model:2.1'))
    const { requests } = recordedWork(records.slice(0, at + 1))
    expect(requests.map(({ outcome: came, isAtWorst }) => [came, isAtWorst])).toEqual([
      ['answered', false],
      ['open', true],
    ])
    expect(requests[1]?.nanos).toBeGreaterThan(0)
  })
  test('leave out a request that the budget refused, also before the end is recorded', async () => {
    const { records } = await recorded([{ text: 'never', usage }], { maxBudgetUsd: 0.01 })
    const at = records.findIndex((record) => record.type === 'intent')
    expect(records[at]).toMatchObject({ intent: { granted: false } })
    expect(recordedWork(records.slice(0, at + 1)).requests).toEqual([])
    expect(recordedWork(records).requests).toEqual([])
  })

  test('sum unreported usage over all requests, wherever the record ends', async () => {
    const broken = { ...callReply('Look'), streamError: { kind: 'connection', message: 'gone' } } as const
    const { records } = await recorded([callReply('Look'), broken, callReply('Write'), { text: 'ok', usage }])
    const attempts = records.map((_, at) => {
      const begun = records.slice(0, at + 1)
      const unreported = recordedWork(begun).requests.filter(({ isAtWorst }) => isAtWorst)
      expect(unreportedUsageIn(begun).attempts).toBe(unreported.length)
      return unreported.length
    })
    expect(new Set(attempts)).toEqual(new Set([0, 1, 2]))
  })
})
