// Tests R-PROG-4 to R-PROG-4c, R-PROG-6: the reminders of a run without progress, and how many turns are stored for it.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  all,
  any,
  ConfigurationError,
  noProgress,
  not,
  resume,
  StopSignal,
  type AgentTool,
  type Guard,
  type ModelRequest,
  type Reminder,
  type StepRecord,
  type StopHook,
} from '../../src/index.ts'
import { noProgressNudge } from '../../src/limits/guard-texts.ts'
import { nearestCycle, withNewest } from '../../src/limits/recent-turns.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json, reader, run, loopMessages } from '../support/harness.ts'

const tools = [reader('Look')]
const circlingModel = () => calls('Look')
const times = (count: number, name: string): string[] => Array.from({ length: count }, () => name)

describe('noProgress', () => {
  test.each([
    [{}, 3, 5],
    [{ repeats: 4 }, 3, 4],
    [{ repeats: 3 }, 2, 3],
    [{ repeats: 1 }, 2, 3],
    [{ repeats: 99, remindAt: 99 }, 4, 5],
    [{ remindAt: 2 }, 2, 5],
    [{ remindAt: 0 }, 2, 5],
  ])('with %o reminds after %i rounds and stops after %i', async (options, remindAt, repeats) => {
    const { transitions, terminal } = await run(circlingModel, { tools, stopWhen: noProgress(options) })
    expect([transitions.indexOf('no_progress_nudge') + 1, terminal.reason, terminal.summary.turns]).toEqual([
      remindAt,
      'no_progress',
      repeats,
    ])
  })

  test.each([{ repeats: NaN }, { remindAt: NaN }])('rejects %o', (options) => {
    expect(() => noProgress(options)).toThrow(ConfigurationError)
  })

  test('reminds once, and stops without a reminder at another cycle', async () => {
    const script = (_request: unknown, index: number) => calls({ name: 'Look', input: { page: Math.floor(index / 4) } })
    const { transitions, terminal } = await run((request, index) => (index < 40 ? script(request, index) : 'done'), {
      tools,
      stopWhen: noProgress(),
    })
    expect([transitions.filter((name) => name === 'no_progress_nudge').length, terminal.reason]).toEqual([
      1,
      'completed',
    ])
  })

  test('sends no reminder and adds no turn at the last turn', async () => {
    const last = await run(circlingModel, { tools, maxTurns: 3, stopWhen: noProgress() })
    expect([last.terminal.reason, last.terminal.summary.turns, loopMessages(last)]).toEqual(['max_turns', 3, []])
    const more = await run(circlingModel, { tools, maxTurns: 4, stopWhen: noProgress({ repeats: 4 }) })
    expect([more.terminal.reason, loopMessages(more)]).toEqual(['no_progress', [['loop', noProgressNudge]]])
  })

  test('reminds in a combination when any of the guards does', async () => {
    const limit: Guard = { name: 'never', evaluate: () => undefined }
    const both = await run(circlingModel, { tools, stopWhen: any(limit, noProgress()) })
    expect(both.transitions).toEqual(['next_turn', 'next_turn', 'no_progress_nudge', 'next_turn'])
    const every = await run(circlingModel, { tools, stopWhen: all(noProgress(), noProgress()) })
    // A guard without a reminder uses this reminder when it would stop the run.
    expect([every.transitions.indexOf('no_progress_nudge'), every.terminal.summary.turns]).toEqual([4, 10])
  })
})

describe('a custom guard', () => {
  const stopping: Guard = {
    name: 'mine',
    checkpoints: ['after_tools'],
    looksAtTurns: true,
    evaluate: ({ recentTurns }) => (recentTurns.length >= 4 ? new StopSignal({ reason: 'no_progress' }) : undefined),
  }

  test('is answered with the reminder when it stops without one, and the count starts anew', async () => {
    const { transitions, terminal } = await run(circlingModel, { tools, stopWhen: stopping })
    expect([transitions, terminal.reason]).toEqual([
      [...times(3, 'next_turn'), 'no_progress_nudge', ...times(3, 'next_turn')],
      'no_progress',
    ])
    const last = await run(circlingModel, { tools, maxTurns: 4, stopWhen: stopping })
    expect([last.terminal.reason, loopMessages(last)]).toEqual(['no_progress', []])
  })

  test('reminds of anything it wants, each once', async () => {
    const guard: Guard = { name: 'mine', evaluate: () => undefined, reminds: () => ['same_turns'] }
    const ended = await run((_request, index) => (index < 6 ? calls('Look') : 'done'), { tools, stopWhen: guard })
    expect(ended.transitions.indexOf('no_progress_nudge')).toBe(0)
    expect(loopMessages(ended)).toEqual([['loop', noProgressNudge]])
  })

  test.each([
    ['a text', 'same_turns'],
    ['another word', ['same']],
    ['a list with holes', Object.assign<string[], object>([], { 1: 'same_turns' })],
    ['a promise', Promise.resolve(['same_turns'])],
  ])('that returns %s ends the run as an error', async (_what, returned) => {
    // Plain JavaScript code can return any value.
    const reminds = () => returned as unknown as readonly Reminder[]
    const { terminal } = await run(circlingModel, {
      tools,
      stopWhen: { name: 'odd', evaluate: () => undefined, reminds },
    })
    expect([terminal.reason, terminal.error?.message]).toEqual([
      'error',
      expect.stringContaining('The guard odd returned a value that is not a list of reminders.'),
    ])
  })
})

describe('a part of another guard that answers asynchronously', () => {
  const late = (): Promise<never> => Promise.reject(new Error('late'))
  // Plain JavaScript code can return any value. An unhandled rejection ends the process.
  const part: Guard = { name: 'late', evaluate: late as unknown as Guard['evaluate'] }
  const reminding: Guard = { name: 'late', evaluate: () => undefined, reminds: late as unknown as () => [] }

  test.each([
    ['any', any(part), 'not a StopSignal'],
    ['all', all(part), 'not a StopSignal'],
    ['not', not(part), 'not a StopSignal'],
    ['any, of reminders', any(reminding), 'not a list of reminders'],
  ])('%s: ends the run as an error that names it', async (_what, stopWhen, problem) => {
    const { terminal } = await run(circlingModel, { tools, stopWhen })
    expect([terminal.reason, terminal.error?.message]).toEqual([
      'error',
      expect.stringContaining(`The guard late returned a value that is ${problem}`),
    ])
  })
})

test('does not repeat the reminder in a run of an earlier version', async () => {
  const options = { tools, stopWhen: noProgress(), model: scriptedModel(circlingModel) }
  const { steps } = await run(circlingModel, options)
  const at = steps.records.findIndex((record) => record.type === 'lap' && record.lap.transition === 'no_progress_nudge')
  // Such a record contains only the iteration, and its hashes differ.
  const old = steps.records.slice(0, at + 1).map((record) => {
    if (record.type !== 'lap') return record
    const { reminded: _, ...spent } = record.lap.spent
    return { ...record, lap: { ...record.lap, spent: { ...spent, recentTurns: [] } } }
  })
  const { terminal, state } = await resume(old, options).loop.ended
  expect([terminal.reason, state.spent.laps.inRun.no_progress_nudge, terminal.summary.turns]).toEqual([
    'no_progress',
    1,
    8,
  ])
})

test('nor after a reminder about rejected answers', async () => {
  let blocks = 0
  const stopHooks: StopHook[] = [{ id: 'gate', handle: () => ({ block: `not yet ${'x'.repeat(blocks++)}` }) }]
  const script = (_request: unknown, index: number): ScriptedReply => {
    if (index < 4) return calls('Look')
    return index < 7 ? 'It is done.' : calls({ name: 'Look', input: { page: 2 } })
  }
  const options = { tools, stopHooks, stopWhen: noProgress() }
  const { steps } = await run(script, options)
  const at = steps.records.findIndex((record) => record.type === 'lap' && record.lap.transition === 'no_progress_nudge')
  const old = steps.records.slice(0, at + 1).map((record) => {
    if (record.type !== 'lap') return record
    const { reminded: _, ...spent } = record.lap.spent
    return { ...record, lap: { ...record.lap, spent } }
  })
  const model = scriptedModel((request: ModelRequest, index: number) => script(request, index + 3))
  const { terminal, state } = await resume(old, { ...options, model }).loop.ended
  expect([terminal.reason, state.spent.reminded, state.spent.laps.inRun.no_progress_nudge]).toEqual([
    'no_progress',
    ['same_turns', 'equal_answers'],
    1,
  ])
})

test('repeats the reminder of a subagent in a resume, wherever its process died, and not for a new guard', async () => {
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  }
  const script = ({ messages }: ModelRequest): ScriptedReply => {
    if (messages[0]?.content === 'go') return messages.length === 1 ? calls('Agent') : 'done'
    return messages.filter(({ role }) => role === 'assistant').length < 4 ? calls('Look') : 'found'
  }
  const options = (isGuarded: boolean) => {
    const model = scriptedModel(script)
    return { model, tools: [agent, ...tools], ...(isGuarded && { stopWhen: noProgress() }) }
  }
  const reminders = ({ requests }: { readonly requests: readonly ModelRequest[] }) =>
    JSON.stringify(requests.at(-2)?.messages).split(JSON.stringify(noProgressNudge)).length - 1
  const whole = options(true)
  const { steps } = await run(script, whole)
  expect(reminders(whole.model)).toBe(1)
  const seen = new Set<number>()
  for (let length = 1; length < steps.records.length; length++) {
    const records = json(steps.records.slice(0, length)) as never as readonly StepRecord[]
    const again = options(true)
    const { terminal } = await resume(records, again).loop.ended
    expect(terminal.reason).toBe('completed')
    // The last request of the agent is made again when it was not on record.
    if (again.model.requests.length >= 2) seen.add(reminders(again.model))
  }
  expect([...seen]).toEqual([1])
  const unguarded = await run(script, options(false))
  const last = unguarded.steps.records.findLastIndex((record) => 'key' in record && record.key.includes('/model:5.1'))
  const guarded = options(true)
  await resume(json(unguarded.steps.records.slice(0, last)) as never as readonly StepRecord[], guarded).loop.ended
  expect(reminders(guarded.model)).toBe(0)
})

describe('the stored turns', () => {
  test('contain the same cycles as all turns would, and are few unless turns repeat', () => {
    const turn = fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.boolean())
      .map(([hash, waits]) => (waits ? -1 - hash : hash))
    const rounds = fc.tuple(fc.array(turn, { minLength: 1, maxLength: 9 }), fc.integer({ min: 1, max: 6 }))
    fc.assert(
      fc.property(fc.array(rounds, { maxLength: 6 }), (drawnRounds) => {
        const turns = drawnRounds.flatMap(([round, repeats]) => Array.from({ length: repeats }, () => round).flat())
        let remembered: readonly number[] = []
        for (const [index, newest] of turns.entries()) {
          remembered = withNewest(remembered, newest)
          const whole = turns.slice(Math.max(0, index - 39), index + 1)
          expect(nearestCycle(remembered, 5)).toEqual(nearestCycle(whole, 5))
          expect(remembered.length).toBeLessThanOrEqual(40)
        }
      }),
    )
    let different: readonly number[] = []
    for (let newest = 0; newest < 100; newest++) different = withNewest(different, newest)
    expect(different).toEqual([92, 93, 94, 95, 96, 97, 98, 99])
  })
})
