// Spec R-HOST-20: commands that the program answers without a model.
import type { SdkMessage } from '@halting/core'
import type { SessionGoal } from '@halting/core/session'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Flags } from '../../src/flags/flags.ts'
import type { HostSession } from '../../src/host/host-session.ts'
import { type StatusCommand, statusCommandOf, withStatusCommands } from '../../src/host/status-commands.ts'
import { StatusQueue } from '../../src/host/status-queue.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const idle = { status: 'idle', last: undefined, canResume: false }

/** The part of a session that status commands read. */
function sessionOf(snapshot: object): HostSession['session'] {
  return { id: 's', snapshot } as unknown as HostSession['session']
}

interface Line {
  readonly type: string
  readonly subtype?: string
  readonly is_error?: boolean
  readonly result?: string
  readonly local_command?: string
}

function createQueue(
  isInRun: () => boolean,
  contextUsage: () => Promise<unknown> = () => Promise.reject(new Error('lost')),
  flags: Flags = {},
  goal: SessionGoal | null = null,
) {
  const lines: Line[] = []
  const changes: object[] = []
  const figures = {
    turns: 1,
    toolCalls: 2,
    sessionUsd: 0.5,
    settledUsd: 0.25,
    reservedUsd: 0,
    settledTokens: 10,
    usedMs: 5,
  }
  const limits = {
    maxTurns: 3,
    maxBudgetUsd: null,
    maxRunUsd: null,
    maxTotalTokens: null,
    maxDurationMs: null,
    maxToolCalls: null,
  }
  const snapshot = {
    ...idle,
    figures,
    limits,
    goal,
    nextStop: null,
    model: 'm',
    permissionMode: 'default',
    file: undefined,
  }
  const session = { id: 's', snapshot, contextUsage, set: (change: object) => void changes.push(change) }
  const opened = { session, initFields: () => ({ cwd: '/work', tools: ['Read'] }) } as unknown as HostSession
  const queue = new StatusQueue({
    opened: () => opened,
    isInRun,
    write: (line) => void lines.push(line as Line),
    replayed: (id) => [{ type: 'user', uuid: id }],
    flags,
    program: programInMemory({ cwd: '/work', env: {} }),
  })
  return { queue, lines, changes }
}

describe('which messages are status commands', () => {
  test.each([
    ['/cost', { name: 'cost', argument: '' }],
    [' /limits  turns 60 ', { name: 'limits', argument: 'turns 60' }],
    ['/compact keep names', { name: 'compact', argument: 'keep names' }],
    ['/costs', undefined],
    ['/cost/why', undefined],
    ['what does /cost do?', undefined],
  ])('%s', (text, expected) => {
    const session = sessionOf(idle)
    expect(statusCommandOf(text, session)).toEqual(expected)
    expect(statusCommandOf([{ type: 'text', text }], session)).toEqual(expected)
  })

  test('compact starts a run if there is something to compact', () => {
    expect(statusCommandOf('/compact', sessionOf({ ...idle, last: { reason: 'completed' } }))).toBeUndefined()
    expect(statusCommandOf('/compact', sessionOf({ ...idle, canResume: true }))).toBeUndefined()
    expect(statusCommandOf('/compact', sessionOf({ ...idle, status: 'running' }))).toBeUndefined()
  })

  test('status commands hide commands of people with the same name', () => {
    const names = withStatusCommands([{ name: 'cost' }, { name: 'deploy' }]).map(({ name }) => name)
    expect(names).toEqual(['compact', 'context', 'cost', 'goal', 'limits', 'until', 'why', 'deploy'])
  })
})

test('an answer has the lines of a run, and the message is replayed', async () => {
  const { queue, lines } = createQueue(() => false)
  queue.add({ name: 'limits', argument: '' }, 'mine')
  await queue.settled()
  expect(lines).toMatchObject([
    { type: 'system', subtype: 'init', cwd: '/work', tools: ['Read'], model: 'm', permissionMode: 'default' },
    { type: 'user', uuid: 'mine' },
    { type: 'assistant', message: { model: '<synthetic>' } },
    { type: 'result', subtype: 'success', num_turns: 0, total_cost_usd: 0.5, local_command: 'limits' },
  ])
  expect(lines.at(-1)?.result).toBe(
    'Limits\n  turns    1 of 3\n  usd      $0.5000, no limit\n  run-usd  $0.2500, no limit\n  tokens   10, no limit\n  time     5 ms, no limit\n  calls    2, no limit\n  next stop: none',
  )
})

test('init and the model usage are those of the last run', async () => {
  const { queue, lines } = createQueue(() => false)
  const modelUsage = { m: { inputTokens: 1 } }
  // The part of a session that the queue reads.
  queue.onMessage({
    type: 'system',
    subtype: 'init',
    tools: ['Read', 'Late'],
    uuid: 'u',
    session_id: 's',
  } as unknown as SdkMessage)
  queue.onMessage({ type: 'result', modelUsage } as unknown as SdkMessage)
  queue.add({ name: 'cost', argument: '' }, 'mine')
  await queue.settled()
  expect([lines[0], lines.at(-1)]).toMatchObject([{ tools: ['Read', 'Late'] }, { modelUsage }])
})

test('an invalid argument is answered with the usage', async () => {
  const { queue, lines } = createQueue(() => false)
  queue.add({ name: 'limits', argument: 'turns many' }, 'mine')
  await queue.settled()
  expect(lines.at(-1)).toMatchObject({
    is_error: false,
    result: expect.stringContaining('/limits turns 60') as unknown,
  })
})

describe('a limit that the host started the session with', () => {
  test.each([['usd 2'], ['usd none'], ['turns +1'], ['tokens none'], ['time 2m']])(
    'cannot be raised by a message: /limits %s',
    async (argument) => {
      const flags = { maxTurns: 3, maxBudgetUsd: 1, maxTokens: 1_000, maxDuration: 60_000 }
      const { queue, lines, changes } = createQueue(() => false, undefined, flags)
      queue.add({ name: 'limits', argument }, 'mine')
      await queue.settled()
      expect(lines.at(-1)?.result).toContain('a message cannot raise')
      expect(changes).toEqual([])
    },
  )

  test.each([
    ['usd 0.50', { maxBudgetUsd: 0.5 }],
    ['usd 1', { maxBudgetUsd: 1 }],
    ['turns 60', { maxTurns: 60 }],
    ['time none', { maxDurationMs: null }],
  ])('can be lowered, and others can be set: /limits %s', async (argument, limits) => {
    const { queue, changes } = createQueue(() => false, undefined, { maxBudgetUsd: 1 })
    queue.add({ name: 'limits', argument }, 'mine')
    await queue.settled()
    expect(changes).toEqual([{ limits }])
  })
})

describe('goals', () => {
  const goals: SessionGoal = {
    goals: [{ name: 'npm test' }],
    isChecked: true,
    isChecking: false,
    tries: 1,
    maxTries: 10,
    last: {
      met: false,
      checks: [{ name: 'npm test', met: false, exitCode: 1, durationMs: 1, tail: '3 failed' }],
      tampered: [],
      changedTests: [],
      flaky: false,
    },
  }
  const judgedGoal = { ...goals, goals: [{ name: 'All pages load.', judged: true }], last: null } as const
  const messagesFor = async (
    command: StatusCommand,
    goal: SessionGoal | null,
    flags: Flags = {},
  ): Promise<{ readonly says: string | undefined; readonly changes: readonly object[] }> => {
    const { queue, lines, changes } = createQueue(() => false, undefined, flags, goal)
    queue.add(command, 'mine')
    await queue.settled()
    expect(lines.at(-1)?.is_error).toBe(false)
    return { says: lines.at(-1)?.result, changes }
  }

  test.each(['until', 'goal'] as const)('are shown by /%s, with their state', async (name) => {
    const { says, changes } = await messagesFor({ name, argument: '' }, goals)
    expect(says).toBe('npm test ✗ (exit code 1)\n  3 failed\nsent back 1 of 10 times.')
    expect([changes, (await messagesFor({ name, argument: '' }, null)).says]).toEqual([[], 'No goal is set.'])
  })

  test.each([[null], [goals], [judgedGoal]])('cannot gain or lose a command by a message', async (goal) => {
    for (const argument of ['npm test', '+ npm test', 'off']) {
      const { says, changes } = await messagesFor({ name: 'until', argument }, goal)
      expect([says?.startsWith('A message cannot set or remove a goal command'), changes]).toEqual([true, []])
    }
  })

  test('are judged by a model if a message sets them and the session started without goals', async () => {
    const { says, changes } = await messagesFor({ name: 'goal', argument: 'It works.' }, null)
    expect(says).toContain('a model judges this to be true: It works.')
    expect(changes).toMatchObject([{ until: [{ name: 'It works.', judged: true }] }])
    expect((await messagesFor({ name: 'goal', argument: 'off' }, judgedGoal)).changes).toEqual([{ until: [] }])
  })

  test.each([['It works.'], ['off']])(
    'that were set at the start cannot be changed by a message: /goal %s',
    async (argument) => {
      for (const [goal, flags] of [
        [goals, {}],
        [judgedGoal, { goal: 'All pages load.' }],
      ] as const) {
        const { says, changes } = await messagesFor({ name: 'goal', argument }, goal, flags)
        expect([says?.includes('which a message cannot change'), changes]).toEqual([true, []])
      }
    },
  )
})

test('a failure is an error', async () => {
  const { queue, lines } = createQueue(() => false)
  queue.add({ name: 'context', argument: '' }, 'mine')
  await queue.settled()
  expect(lines.at(-1)).toMatchObject({ is_error: true, errors: ['lost'] })
})

test('status answers are emitted in order and never during a run, whenever runs start and end', async () => {
  const step = fc.constantFrom('begin', 'end', 'cost', 'context', 'pause')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      let isInRun = false
      const places: string[] = []
      const { queue, lines } = createQueue(
        () => isInRun,
        async () => {
          await Promise.resolve()
          return { totalTokens: 1, maxTokens: null, compactsAt: null, categories: [] }
        },
      )
      const push = lines.push.bind(lines)
      lines.push = (...more) => {
        places.push(isInRun ? 'in' : 'between')
        return push(...more)
      }
      const asked: string[] = []
      for (const each of steps) {
        if (each === 'begin') isInRun = true
        else if (each === 'end') {
          isInRun = false
          queue.wake()
        } else if (each === 'pause') await new Promise(setImmediate)
        else {
          asked.push(each)
          queue.add({ name: each, argument: '' }, `m${asked.length}`)
        }
      }
      isInRun = false
      queue.wake()
      await queue.settled()
      expect(places).not.toContain('in')
      expect(lines.flatMap(({ local_command: name }) => name ?? [])).toEqual(asked)
    }),
  )
})
