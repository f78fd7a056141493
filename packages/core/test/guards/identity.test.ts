// Tests R-DEC-3, R-DEC-5, for guards that share a name.
import { describe, expect, test } from 'vitest'
import { any, certificate, noProgress, resume, StopSignal, type Guard } from '../../src/index.ts'
import { StepsLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, hook, reader, run } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const tools = [reader('Look')]
/** A hook that always requests to continue. */
const hooks = [hook('onStop', (context) => context.withState(context.state().withExecutionContinued('more')))]
const overrides = (transitions: readonly string[]) =>
  transitions.filter((name) => name === 'continuation_requested').length

/** A guard that stops from this step on; another one of its name never does. */
const named = (name: string, limit: number): Guard => ({
  name,
  evaluate: ({ steps }) =>
    steps >= limit ? new StopSignal({ reason: 'steps_limit', message: `${limit}`, source: name }) : undefined,
})

describe('a guard is overridden once until it has been below its limit', () => {
  test.each<[string, readonly Guard[]]>([
    ['alone', [new StepsLimitHook(1)]],
    ['with another of its class before it', [new StepsLimitHook(900), new StepsLimitHook(1)]],
    ['with another of its class after it', [new StepsLimitHook(1), new StepsLimitHook(900)]],
    ['with a silent one of its name', [named('mine', 1), named('mine', 900)]],
    ['with combinations of the same names', [any(new StepsLimitHook(1)), any(new StepsLimitHook(900))]],
    ['with one that uses the name of a limit of the run', [named('max_turns', 900), named('x', 1)]],
  ])('%s', async (_how, stopWhen) => {
    const { transitions, terminal } = await run(() => calls('Look'), { tools, hooks, stopWhen })
    expect([overrides(transitions), terminal.reason, terminal.summary.turns]).toEqual([1, 'max_turns', 2])
  })

  test('the limit on turns itself, next to a silent guard of its name', async () => {
    const runOptions = { tools, hooks, maxTurns: 1, stopWhen: [named('max_turns', 900), named('ledger', 900)] }
    const { transitions, terminal } = await run(() => calls('Look'), runOptions)
    expect([overrides(transitions), terminal.reason]).toEqual([1, 'max_turns'])
  })

  test('another one of the same name may be overridden separately', async () => {
    const stopWhen = [new StepsLimitHook(1), new StepsLimitHook(3)]
    const { transitions, terminal } = await run(() => calls('Look'), { tools, hooks, stopWhen })
    // The first one fires together with the second, and was overridden before.
    expect([overrides(transitions), terminal.reason]).toEqual([1, 'max_turns'])
    const below: Guard = {
      name: 'StepsLimitHook',
      evaluate: ({ steps }) => (steps === 3 ? new StopSignal({ reason: 'steps_limit', source: 'below' }) : undefined),
    }
    const first: Guard = {
      ...below,
      evaluate: ({ steps }) => (steps === 1 ? new StopSignal({ reason: 'steps_limit' }) : undefined),
    }
    const both = await run((_request, index) => (index < 5 ? calls('Look') : 'done'), {
      tools,
      hooks: [asking(2)],
      stopWhen: [first, below],
    })
    expect([overrides(both.transitions), both.terminal.reason]).toEqual([2, 'completed'])
  })

  test('stays overridden over a resume', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const stopWhen = [new StepsLimitHook(1), new StepsLimitHook(900)]
    const options = { tools, hooks, stopWhen, model: scriptedModel(() => calls('Look')), clock }
    let lapped = false
    const records = await killedBefore((record) => {
      if (lapped) return true
      lapped = record.type === 'lap'
      return false
    }, options)
    expect(records.at(-1)).toMatchObject({ type: 'lap', lap: { transition: 'continuation_requested' } })
    // One more guard before them is another program: it does not take their place.
    const { terminal } = await resume(records, { ...options, stopWhen: [named('new', 900), ...stopWhen] }).loop.ended
    expect([terminal.reason, terminal.summary.turns]).toEqual(['max_turns', 2])
  })
})

test('a guard with reminders adds nothing to the bound on iterations: its reminders are turns', () => {
  const options = { model: scriptedModel([]), maxTurns: 5 }
  const iterationsOf = (guard: Guard) => certificate({ ...options, stopWhen: guard }).laps
  expect(iterationsOf(noProgress())).toEqual(iterationsOf(new StepsLimitHook(900)))
})

/** A hook that requests to continue this many times. */
function asking(times: number) {
  let left = times
  return hook('onStop', (context) =>
    left-- > 0 ? context.withState(context.state().withExecutionContinued('more')) : undefined,
  )
}
