// Tests R-GOAL-1 to R-GOAL-14.
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  createMemorySteps,
  streamRun,
  startRun,
  type Goal,
  type GoalContext,
  type GoalFiles,
  type GoalVerdict,
} from '../../src/index.ts'
import { FinishReasonHook } from '../../src/compat/index.ts'
import { lineOfCheck } from '../../src/goals/report.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, reader, run, tool, type Run } from '../support/harness.ts'

const failed = (report = '1 failed'): GoalVerdict => ({ met: false, exitCode: 1, report })
const passed: GoalVerdict = { met: true, exitCode: 0 }

/** A goal whose checks return these verdicts, in order, and the last one from then on. */
function goal(...verdicts: readonly (GoalVerdict | ((context: GoalContext) => GoalVerdict | Promise<GoalVerdict>))[]) {
  let checks = 0
  const countingGoal: Goal & { readonly checks: number } = {
    name: 'npm test',
    get checks() {
      return checks
    },
    check(context) {
      const verdict = verdicts[Math.min(checks++, verdicts.length - 1)] ?? passed
      return typeof verdict === 'function' ? verdict(context) : verdict
    },
  }
  return countingGoal
}

/** The messages that the loop wrote to the model. */
function loopTexts(state: Run['state']): readonly string[] {
  return [...state.transcript].flatMap((entry) =>
    entry.kind === 'user' && entry.origin === 'loop' && typeof entry.message.content === 'string'
      ? [entry.message.content]
      : [],
  )
}

const edit = tool('Edit', 'edited')

describe('an answer', () => {
  test('ends the run as completed when the goal holds, and records how it was reached', async () => {
    const until = goal(failed(), passed)
    const { terminal, transitions } = await run([calls('Edit'), 'Done.'], { until: [until], tools: [edit] })
    expect([terminal.reason, transitions]).toEqual(['completed', ['next_turn']])
    expect(terminal.goal).toEqual({
      met: true,
      tries: 0,
      baseline: false,
      checks: [{ name: 'npm test', met: true, exitCode: 0, durationMs: 0, tail: '' }],
      tampered: [],
      changedTests: [],
      flaky: false,
    })
  })

  test('is sent back with the failure, the tries and what is left, until the goal holds', async () => {
    const until = goal(failed(), failed('line 1\nline 2'), passed)
    const { terminal, transitions, state } = await run([calls('Edit'), 'Done.', calls('Edit'), 'Now.'], {
      until: [until],
      tools: [edit],
      maxTurns: 10,
    })
    expect([terminal.reason, terminal.goal?.tries]).toEqual(['completed', 1])
    expect(transitions).toEqual(['next_turn', 'goal_unmet', 'next_turn'])
    const feedback = loopTexts(state).find((text) => text.startsWith('The goal is not met'))
    expect(feedback).toContain('`npm test` failed with exit code 1')
    expect(feedback).toContain('line 1\nline 2')
    expect(feedback).toContain('attempt 1 of 10. Left: 7 turns.')
  })

  test('ends as goal_unmet when the tries are used up', async () => {
    let round = 0
    const { terminal, transitions } = await run(() => (round++ % 2 === 0 ? calls('Edit') : 'Done.'), {
      until: [goal(failed())],
      tools: [edit],
      maxGoalTries: 3,
    })
    expect(transitions.filter((transition) => transition === 'goal_unmet')).toHaveLength(3)
    expect([terminal.reason, terminal.signal.reason, terminal.signal.message]).toEqual([
      'goal_unmet',
      'retry_limit',
      'The goal is not met after 3 tries: `npm test` failed with exit code 1: 1 failed',
    ])
    expect([terminal.goal?.met, terminal.goal?.tries]).toEqual([false, 3])
  })

  test('ends as max_turns when the turns are used up before the tries, with the goal unmet', async () => {
    const { terminal } = await run(['a', 'b', 'c', 'd'], {
      until: [goal(failed('1'), failed('a'), failed('b'), failed('c'))],
      maxTurns: 2,
    })
    expect([terminal.reason, terminal.goal?.met, terminal.goal?.tries]).toEqual(['max_turns', false, 1])
  })

  test('is not checked again when it has passed and nothing changed since', async () => {
    const until = goal(passed, failed())
    const { terminal } = await run(['Nothing to do.'], { until: [until] })
    expect([terminal.reason, terminal.goal?.heldFromStart, until.checks]).toEqual(['completed', true, 1])
    const looked = goal(passed, failed())
    await run([calls('Look'), 'Nothing to do.'], { until: [looked], tools: [reader('Look')] })
    expect(looked.checks).toBe(1)
  })

  test('is checked anew after a call that may have changed something, even a failed one', async () => {
    const until = goal(passed, passed)
    const broken = tool('Bash', () => {
      throw new Error('exit code 1')
    })
    await run([calls('Bash'), 'Done.'], { until: [until], tools: [broken] })
    expect(until.checks).toBe(2)
    const unchanged = goal(passed, passed)
    await run([calls('Edit'), 'Done.'], {
      until: [unchanged],
      tools: [{ ...broken, name: 'Edit', failsUnchanged: true }],
    })
    expect(unchanged.checks).toBe(1)
  })
})

describe('a run that stalls', () => {
  test('is reminded once that nothing changed, and ends with the next such answer', async () => {
    const { terminal, state } = await run(() => 'Done.', { until: [goal(failed('took 3 ms'), failed('took 4 ms'))] })
    expect([terminal.reason, terminal.goal?.tries, terminal.signal.context['cause']]).toEqual([
      'goal_unmet',
      2,
      'stalled',
    ])
    expect(loopTexts(state).filter((text) => text.includes('Nothing has changed since'))).toHaveLength(1)
  })

  test('does not stall while it changes something, whatever the report says', async () => {
    let round = 0
    const { terminal } = await run(() => (round++ % 2 === 0 ? calls('Edit') : 'Done.'), {
      until: [goal(failed())],
      tools: [edit],
      maxGoalTries: 6,
    })
    expect([terminal.goal?.tries, terminal.signal.context['cause']]).toEqual([6, 'tries'])
  })

  test('does not stall when more than the numbers of its report change', async () => {
    const reports = ['a', 'b', 'c', 'd', 'e'].map((name) => failed(`test ${name} failed`))
    const { terminal } = await run(() => 'Done.', { until: [goal(failed(), ...reports)], maxGoalTries: 4 })
    expect([terminal.goal?.tries, terminal.signal.context['cause']]).toEqual([4, 'tries'])
  })
})

describe('before the first request', () => {
  test('checks the goal and shows the model the result, which ends nothing', async () => {
    const { model, terminal } = await run(['Done.'], { until: [goal(failed('2 failed'), passed)], tools: [edit] })
    const first = JSON.stringify(model.requests[0]?.messages)
    expect(first).toContain('`npm test` exits with 0')
    expect(first).toContain('2 failed')
    expect([terminal.reason, terminal.goal?.baseline]).toEqual(['completed', false])
  })

  test('ends the run without a request when the goal holds, with skipIfMet', async () => {
    const { terminal, model } = await run(['Done.'], { until: [goal(passed)], skipIfMet: true })
    expect([terminal.reason, model.requests.length, terminal.goal?.heldFromStart]).toEqual(['completed', 0, true])
    const unmet = await run(['Done.'], { until: [goal(failed(), passed)], skipIfMet: true })
    expect(unmet.model.requests).toHaveLength(1)
  })

  test('reports no changed files when no check changed any, with skipIfMet', async () => {
    const goalFiles: GoalFiles = {
      begin: () => ({ tampered: [], end: () => ({ memo: 1, changedByChecks: [], changedTests: [] }) }),
    }
    const { terminal, state } = await run(['Done.'], { until: [goal(passed)], skipIfMet: true, goalFiles })
    expect(terminal.goal?.heldFromStart).toBe(true)
    expect([...state.transcript].filter(({ kind }) => kind === 'attachment')).toEqual([])
  })

  test('ends nothing when a goal that is set later holds: skipIfMet is about the start', async () => {
    let callCount = 0
    const going = begin(
      () => {
        if (++callCount === 1) going.loop.set({ until: [{ name: 'second' }] })
        return callCount === 1 ? calls('Edit') : 'Done.'
      },
      {
        until: [{ ...goal(failed()), name: 'first' }],
        goalNamed: ({ name }) => (name === 'second' ? { name, check: () => passed } : undefined),
        tools: [edit],
        skipIfMet: true,
      },
    )
    const { terminal, model } = await going.end()
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 2])
  })

  test('ends the run before any request when a check can never pass', async () => {
    const until = goal({ met: false, exitCode: 127, unusable: 'There is no command npmm. Give one that is there.' })
    const { terminal, model } = await run(['Done.'], { until: [until] })
    expect([terminal.reason, terminal.error?.code, model.requests.length]).toEqual(['error', 'configuration', 0])
    expect(terminal.signal.message).toContain('There is no command npmm')
  })
})

describe('at a limit', () => {
  test('checks the goal once more when something changed, and a run whose goal holds is done', async () => {
    const { terminal } = await run(() => calls('Edit'), { until: [goal(failed(), passed)], tools: [edit], maxTurns: 3 })
    expect([terminal.reason, terminal.signal.message, terminal.goal?.met]).toEqual([
      'completed',
      'The goal is met; the turn limit is reached',
      true,
    ])
  })

  test('keeps the ending when the goal does not hold', async () => {
    const { terminal } = await run(() => calls('Edit'), { until: [goal(failed())], tools: [edit], maxTurns: 3 })
    expect([terminal.reason, terminal.goal?.met]).toEqual(['max_turns', false])
  })

  test('checks nothing after the time is up or an abort: the state of the goal is unknown', async () => {
    const until = goal(failed(), passed)
    const going = begin([calls('Edit'), calls('Edit')], {
      until: [until],
      tools: [tool('Edit', () => (going.loop.abort(), 'ok'))],
    })
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.goal?.met, until.checks]).toEqual(['aborted_tools', 'unknown', 1])
  })

  test('does not turn an unmet goal into a success when a guard accepts the answer as the end', async () => {
    const half = { text: 'Half.', stopReason: 'stop_sequence' } as const
    const options = { stopWhen: new FinishReasonHook(['stop_sequence']) }
    const unmet = await run([half], { ...options, until: [goal(failed())] })
    expect([unmet.terminal.reason, unmet.terminal.goal?.met]).toEqual(['goal_unmet', false])
    const met = await run([half], { ...options, until: [goal(passed)] })
    expect([met.terminal.reason, met.terminal.goal?.met]).toEqual(['finish_reason', true])
  })

  test('ends the run after the turn that met the goal, with stopWhenMet', async () => {
    const { terminal, model } = await run(() => calls('Edit'), {
      until: [goal(failed(), failed(), passed)],
      tools: [edit],
      stopWhenMet: true,
    })
    expect([terminal.reason, model.requests.length, terminal.goal?.met]).toEqual(['completed', 2, true])
  })
})

describe('a check', () => {
  test('that throws, returns nonsense or hangs is not met', async () => {
    const thrown = await run(() => 'x', {
      until: [
        goal(() => {
          throw new Error('boom')
        }),
      ],
      maxGoalTries: 1,
    })
    expect(thrown.terminal.goal?.checks[0]).toMatchObject({ met: false, tail: 'The check failed: boom' })
    // Plain JavaScript code can return any value.
    const nonsense = await run(() => 'x', { until: [goal(() => 'yes' as never)], maxGoalTries: 1 })
    expect(nonsense.terminal.goal?.met).toBe(false)
    const hangs = { ...goal(() => new Promise<never>(() => {})), timeoutMs: 5_000 }
    const hung = await run(() => 'x', { until: [hangs], maxGoalTries: 1 })
    expect(hung.terminal.goal?.checks[0]).toMatchObject({ met: false, timedOut: true })
    expect(hung.terminal.durationMs).toBeGreaterThanOrEqual(5_000)
  })

  test('that obeys its signal is interrupted by an abort of the run, which ends as aborted', async () => {
    const until = goal(
      failed(),
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          going.loop.abort()
        }),
    )
    const going = begin(['Done.'], { until: [until] })
    const { terminal } = await going.end()
    expect(terminal.reason).toBe('aborted_streaming')
  })

  test('stops the others when it fails, and repeats a pass as often as stability requires', async () => {
    const [first, second] = [goal(passed), { ...goal(failed()), name: 'lint' }]
    const both = await run(() => 'x', { until: [second, first], maxGoalTries: 1 })
    expect([both.terminal.goal?.checks.map(({ name }) => name), first.checks]).toEqual([['lint'], 0])
    const stable = goal(failed(), passed, passed, failed(), passed, passed, passed)
    const { terminal } = await run([calls('Edit'), 'a', 'b'], {
      until: [{ ...stable, check: (c) => stable.check(c), stable: 3 }],
      tools: [edit],
    })
    expect([terminal.reason, terminal.goal?.tries, terminal.goal?.flaky]).toEqual(['completed', 1, true])
  })

  test('that returns another verdict without any change is flaky', async () => {
    const { terminal } = await run(['a', 'b'], { until: [goal(failed(), failed(), passed)] })
    expect([terminal.reason, terminal.goal?.flaky]).toEqual(['completed', true])
  })

  test('names the fix for an invalid goal', async () => {
    const options = (more: object) => () => streamRun(startRun({ prompt: 'go' }), { model: scriptedModel([]), ...more })
    expect(options({ until: ['npm test'] })).toThrow(ConfigurationError)
    expect(options({ until: [goal(passed), goal(passed)] })).toThrow('Two goals have the name npm test')
    expect(options({ until: [goal(passed)], maxGoalTries: Infinity })).toThrow('no bound')
    expect(options({ until: [{ ...goal(passed), stable: 0.5 }] })).toThrow('stable')
  })
})

describe('the files around the checks', () => {
  const files = (tampered: readonly string[]): GoalFiles => {
    let rounds = 0
    return {
      begin: (memo) => ({
        tampered: rounds++ === 0 ? [] : tampered,
        end: () => ({
          memo: [memo, rounds],
          changedByChecks: rounds === 2 ? ['a.snap'] : [],
          changedTests: ['a.test.js'],
        }),
      }),
    }
  }

  test('are not checked when a protected file has changed, and the model must restore it', async () => {
    const until = goal(failed(), passed)
    const { terminal, state } = await run([calls('Edit'), 'Done.', 'Done.'], {
      until: [until],
      tools: [edit],
      goalFiles: files(['package.json (scripts.test)']),
      maxGoalTries: 1,
    })
    expect([terminal.reason, terminal.goal?.tampered, until.checks]).toEqual([
      'goal_unmet',
      ['package.json (scripts.test)'],
      1,
    ])
    expect(loopTexts(state).join('\n')).toContain('Restore their original content: package.json (scripts.test)')
  })

  test('are named when they change during the checks, whose verdict then does not count', async () => {
    const goalFilesOf = { memo: null, changedByChecks: [], changedTests: [], tampered: ['package.json (scripts.test)'] }
    const until = goal(passed)
    const { terminal, state } = await run(() => 'Done.', {
      until: [until],
      maxGoalTries: 1,
      goalFiles: { begin: () => ({ tampered: [], end: () => goalFilesOf }) },
    })
    expect([terminal.reason, terminal.goal?.met, terminal.goal?.tampered]).toEqual([
      'goal_unmet',
      false,
      ['package.json (scripts.test)'],
    ])
    expect(loopTexts(state).join('\n')).toContain(
      'protected files changed while the check ran, so its result does not count. Restore their original content: package.json',
    )
  })

  test('pass their memo from one round to the next, and the model sees what checks changed', async () => {
    const memos: unknown[] = []
    const own = files([])
    const { terminal, state } = await run([calls('Edit'), 'Done.', calls('Edit'), 'Done.'], {
      until: [goal(failed(), failed(), passed)],
      tools: [edit],
      goalFiles: { begin: (memo, ...more) => (memos.push(memo), own.begin(memo, ...more)) },
    })
    expect(memos).toEqual([null, [null, 1], [[null, 1], 2]])
    expect(loopTexts(state).join('\n')).toContain('a.snap')
    expect(terminal.goal?.changedTests).toEqual(['a.test.js'])
  })

  test('make a round unmet when their port throws', async () => {
    const until = goal(passed)
    const { terminal } = await run(() => 'Done.', {
      until: [until],
      maxGoalTries: 1,
      goalFiles: { begin: () => Promise.reject(new Error('EACCES')) },
    })
    expect([terminal.reason, until.checks]).toEqual(['goal_unmet', 0])
  })
})

describe('who receives an answer', () => {
  test('sends an answer without a tool call to the person when one is there', async () => {
    const until = goal(failed(), failed())
    const { terminal } = await run(['Which file do you mean?'], { until: [until], unmetWithoutWork: 'end' })
    expect([terminal.reason, terminal.signal.context['cause'], until.checks]).toEqual(['goal_unmet', 'asks', 1])
    const worked = await run([calls('Edit'), 'Done.', 'I cannot.'], {
      until: [goal(failed())],
      tools: [edit],
      unmetWithoutWork: 'end',
    })
    expect([worked.transitions.includes('goal_unmet'), worked.terminal.signal.context['cause']]).toEqual([true, 'asks'])
  })

  test('checks nothing in a mode that only plans', async () => {
    const until = goal(failed())
    const permissions = {
      denies: () => undefined,
      decide: () => ({ behavior: 'allow' }) as const,
      isPlanning: () => true,
    }
    const { terminal } = await run(['The plan.'], { until: [until], permissions })
    expect([terminal.reason, terminal.goal?.met, until.checks]).toEqual(['completed', 'unknown', 0])
  })

  test('checks goals that are set during the run from then on, with their own tries', async () => {
    const named = goal(failed())
    let callCount = 0
    const script = (): string => {
      if (++callCount === 2) going.loop.set({ until: [{ name: 'second' }] })
      return 'Done.'
    }
    const going = begin(script, {
      until: [{ ...goal(failed('a'), failed('b'), failed('c'), failed('d')), name: 'first' }],
      goalNamed: ({ name }) => (name === 'second' ? { name, check: (context) => named.check(context) } : undefined),
      maxGoalTries: 2,
      tools: [edit],
    })
    const { terminal, transitions } = await going.end()
    expect(() => going.loop.set({ until: [{ name: 'third' }] })).toThrow('third')
    expect(terminal.goal?.checks[0]?.name).toBe('second')
    expect(transitions.filter((each) => each === 'goal_unmet').length).toBeGreaterThan(2)
  })
})

test('repeats no recorded check in a resume, and runs an open one again', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  const until = goal(failed(), failed(), passed)
  const { terminal } = await run([calls('Edit'), 'Done.', calls('Edit'), 'Done.'], {
    until: [until],
    tools: [edit],
    steps,
    clock,
  })
  const names = steps.records.flatMap((record) =>
    record.type === 'result' && record.key.includes('goal:') ? [record.key] : [],
  )
  expect(names).toEqual(['run1/goal:1:baseline', 'run1/goal:2:answer', 'run1/goal:4:answer'])
  expect(terminal.goal?.tries).toBe(1)
})

test.each([
  ['\n> test\n> node t.js\n\nnpm notice New version', ''],
  ['Tests  3 failed | 2 passed\nDuration 5 s', 'Tests  3 failed | 2 passed'],
  ['AssertionError: 1 != 2\nnpm error code 1', 'AssertionError: 1 != 2'],
  [
    'npm error Missing script: "nope"\nnpm error\nnpm error To see a list of scripts, run:',
    'npm error Missing script: "nope"',
  ],
  ['npm notice New version\nnpm ERR! Missing script: "nope"', 'npm ERR! Missing script: "nope"'],
  ['', ''],
])(
  'quotes the most informative line of a report, and only the error of a package manager that ran nothing',
  (report, line) => {
    expect(lineOfCheck({ tail: report })).toBe(line)
  },
)

test('quotes the first line of a judge as the reason', () => {
  expect(lineOfCheck({ judged: true, tail: '\nNo tool has shown it.\nRun a program: 2 failed.' })).toBe(
    'No tool has shown it.',
  )
})
