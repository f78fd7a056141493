// Tests R-GOAL-2, R-GOAL-6, R-GOAL-11, R-GOAL-13a, R-GOAL-15 to R-GOAL-17.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, resume, stepLimit, type Goal, type GoalFiles, type GoalVerdict } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { agent, byPrompt, start } from '../support/background.ts'
import { begin, calls, run, tool } from '../support/harness.ts'

const unmet: GoalVerdict = { met: false, exitCode: 1, report: 'failed' }
const met: GoalVerdict = { met: true, exitCode: 0 }

/** A goal whose checks return these verdicts, in order, and the last one from then on. */
function goal(name: string, ...verdicts: readonly GoalVerdict[]): Goal & { readonly keys: string[] } {
  const keys: string[] = []
  return {
    name,
    keys,
    check({ idempotencyKey }) {
      keys.push(idempotencyKey)
      return verdicts[Math.min(keys.length, verdicts.length) - 1] ?? unmet
    },
  }
}

const edit = tool('Edit', 'edited')

describe('goals that a person set in place of those of the options', () => {
  const named = ({ name }: { readonly name: string }): Goal => goal(name, met)

  /** Goals are set, a turn later the process dies, and another one continues with these options. */
  async function goneOnWith(set: readonly string[], until: readonly Goal[]) {
    let callCount = 0
    const script = () => {
      if (++callCount === 1) going.loop.set({ until: set.map((name) => ({ name })) })
      return callCount < 4 ? calls('Edit') : 'Done.'
    }
    const options = { tools: [edit], goalNamed: named, maxTurns: 9 }
    const going = begin(script, { ...options, until: [goal('first')] })
    const { steps } = await going.end()
    const iterationIndexes = steps.records.flatMap(({ type }, index) => (type === 'lap' ? [index] : []))
    const clock = createFakeClock({ autoAdvance: true })
    const model = scriptedModel(() => 'Done.')
    const { loop } = resume(steps.records.slice(0, (iterationIndexes[1] ?? 0) + 1), { ...options, until, clock, model })
    return (await loop.result).goal?.checks.map(({ name }) => name)
  }

  test('stay when the resuming program passes those of the options again', async () => {
    expect(await goneOnWith(['second'], [goal('first')])).toEqual(['second'])
    expect(await goneOnWith([], [goal('first')])).toBeUndefined()
  })

  test('are replaced by other goals that the resuming program passes', async () => {
    expect(await goneOnWith(['second'], [goal('third', met)])).toEqual(['third'])
  })
})

test('a run that only compacts the conversation has no goals after a kill either', async () => {
  const first = await run(['An answer.'])
  const { transcript } = first.state
  const steps = createMemorySteps({ clock: createFakeClock() })
  const options = { until: [goal('npm test', met)] }
  await run([], { ...options, steps }, { transcript, compact: {} })
  const clock = createFakeClock({ autoAdvance: true })
  const { loop } = resume(steps.records.slice(0, 1), { ...options, model: scriptedModel([]), clock }, transcript)
  expect((await loop.result).goal).toBeNull()
})

describe('while agents of the run work', () => {
  const part = { 'look there': () => calls('Edit') }

  test('a run without turns left is not done, whatever was found before', async () => {
    const until = goal('npm test', met)
    const runOptions = { tools: [agent({ maxTurns: 2 }), edit], until: [until], maxTurns: 2 }
    const { terminal } = await run(byPrompt({ go: [calls(start('look there')), 'Done.'], ...part }), runOptions)
    expect([terminal.reason, terminal.goal?.met]).toEqual(['max_turns', 'unknown'])
    expect(until.keys).toHaveLength(1)
  })

  test('nothing is checked: the answer waits, and their changes are checked later', async () => {
    const until = goal('npm test', unmet, met)
    const runOptions = { tools: [agent({ maxTurns: 2 }), edit], until: [until], maxTurns: 5 }
    const { terminal, events } = await run(
      byPrompt({ go: [calls(start('look there')), 'Wait.', 'Done.'], ...part }),
      runOptions,
    )
    expect([terminal.reason, terminal.goal?.met]).toEqual(['completed', true])
    expect(events.flatMap((event) => (event.type === 'goal_end' ? [event.place] : []))).toEqual(['baseline', 'answer'])
  })
})

test('tries count as turns for a guard on steps', async () => {
  const reports = ['a', 'b', 'c', 'd', 'e'].map((report) => ({ ...unmet, report }))
  const runOptions = { until: [goal('npm test', ...reports)], stopWhen: stepLimit(3) }
  const { terminal, model } = await run(() => 'Done.', runOptions)
  expect([terminal.reason, model.requests.length, terminal.goal?.tries]).toEqual(['max_turns', 3, 3])
})

test('an abort in a check at a limit ends the run as aborted', async () => {
  const until: Goal = {
    name: 'npm test',
    check({ signal, changes }) {
      if (changes === undefined) return unmet
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        going.loop.abort()
      })
    },
  }
  const going = begin(() => calls('Edit'), { until: [until], tools: [edit], maxTurns: 2 })
  const { terminal } = await going.end()
  expect([terminal.reason, terminal.goal?.met]).toEqual(['aborted_streaming', 'unknown'])
})

test('keeps the reference state of the files in the session, however a run ends', async () => {
  const memos: unknown[] = []
  const goalFiles: GoalFiles = {
    begin(memo) {
      memos.push(memo)
      return { tampered: [], end: () => ({ memo: memos.length, changedByChecks: ['a.snap'], changedTests: [] }) }
    },
  }
  const runOptions = { until: [goal('npm test')], goalFiles, tools: [edit], unmetWithoutWork: 'end' } as const
  const first = await run([calls('Edit'), 'Done.', calls('Edit'), 'Done.', 'I cannot.'], runOptions)
  expect(first.terminal.signal.context['cause']).toBe('asks')
  const again = await run(['I cannot.'], runOptions, { prompt: 'again', transcript: first.state.transcript })
  const { transcript, spent: carry } = again.state
  const third = await run(['I cannot.'], runOptions, { prompt: 'go on', transcript, carry })
  await run(['I cannot.'], runOptions, { prompt: 'again', transcript: third.state.transcript })
  expect(memos.slice(1)).toEqual(memos.slice(1).map((_, index) => index + 1))
})

test('a check that passes after the time is up does not count', async () => {
  const late: Goal = {
    name: 'npm test',
    timeoutMs: 50,
    check: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(met))),
  }
  const { terminal } = await run(() => 'Done.', { until: [late], maxGoalTries: 1 })
  expect(terminal.goal?.checks[0]).toMatchObject({ met: false, timedOut: true })
})

test('checks that take too long count as the same try, however far each of them got', async () => {
  let checks = 0
  const hung: Goal = {
    name: 'npm test',
    timeoutMs: 20,
    check: ({ signal }) =>
      new Promise((resolve) => {
        const report = ++checks % 2 === 0 ? 'suite one passed' : ''
        signal.addEventListener('abort', () => resolve({ met: false, report }))
      }),
  }
  const { terminal } = await run(() => 'Done.', { until: [hung], maxGoalTries: 6 })
  expect([terminal.signal.context['cause'], terminal.goal?.tries]).toEqual(['stalled', 2])
})

test('the number of tries must be an integer from 1 to 1,000', () => {
  for (const maxGoalTries of [0, -1, 1.5, 1_001, Number.NaN])
    expect(() => begin([], { until: [goal('npm test')], maxGoalTries })).toThrow('maxGoalTries must be a whole number')
})

test('suggests how to make a goal of a command', () => {
  const until = ['npm test'] as unknown as readonly Goal[]
  expect(() => begin([], { until })).toThrow('until[0] must be a goal, such as commandGoal(command)')
})

test('each check has its own key', async () => {
  const goals = [
    { ...goal('one', met), stable: 2 },
    { ...goal('two', unmet, unmet, met), stable: 2 },
  ]
  await run([calls('Edit'), 'Done.', 'Done.'], { until: goals, tools: [edit] })
  const keys = goals.flatMap((each) => each.keys)
  expect(new Set(keys).size).toBe(keys.length)
})

test('records goals that are reset to those of the options by their names (spec R-GOAL-13b)', async () => {
  let callCount = 0
  const script = () => {
    if (++callCount === 1) going.loop.set({ until: null })
    return callCount === 1 ? calls('Edit') : 'Done.'
  }
  const going = begin(script, { tools: [edit], until: [goal('first', unmet, met)] })
  const { steps } = await going.end()
  const set = steps.records.flatMap((record) => (record.type === 'control' ? [record.control.settings?.until] : []))
  expect(set).toEqual([[{ name: 'first' }]])
})
