// Tests R-TELL-1 to R-TELL-3.
import { describe, expect, test } from 'vitest'
import { resume, type HookFigures } from '../../src/index.ts'
import { CallableHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, reader, run, type Run, type Script } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const look = reader('Look', 'seen')

/** The messages that the loop wrote to the model. */
function loopTexts(state: Run['state']): readonly string[] {
  return [...state.transcript].flatMap((entry) =>
    entry.kind === 'user' && entry.origin === 'loop' && typeof entry.message.content === 'string'
      ? [entry.message.content]
      : [],
  )
}

const looks = (count: number): Script => [...Array.from({ length: count }, () => calls('Look')), 'Done.']

describe('limitReminders', () => {
  test('report what is left of turns at 50, 80 and 95 %, once each', async () => {
    const { state } = await run(looks(19), { tools: [look], maxTurns: 20, limitReminders: true })
    expect(loopTexts(state)).toEqual([
      'Remaining in this run: 10 of 20 turns.',
      'Remaining in this run: 4 of 20 turns.',
      'Remaining in this run: 1 of 20 turns.',
    ])
  })

  test('report several limits in one line', async () => {
    const { state } = await run(looks(4), {
      tools: [look],
      maxTurns: 6,
      maxToolCalls: 6,
      limitReminders: true,
    })
    expect(loopTexts(state)).toEqual(['Remaining in this run: 3 of 6 turns; 3 of 6 tool calls.'])
  })

  test('report the dollar limit that leaves less', async () => {
    const { state } = await run(looks(3), {
      tools: [look],
      prices: dollarATokenPrices,
      maxBudgetUsd: 1e6,
      maxRunUsd: 50_000,
      model: scriptedModel(() => ({ ...calls('Look'), usage: { input_tokens: 9_000, output_tokens: 10 } }), {
        maxOutputTokens: 1_000,
      }),
      limitReminders: true,
    })
    expect(loopTexts(state)[0]).toMatch(/^Remaining in this run: \$\d+\.00 of \$50000\.00\.$/)
  })

  test('report nothing without a limit that is half used, or without the option', async () => {
    const asked = await run(looks(4), { tools: [look], maxTurns: 20, limitReminders: true })
    const notAsked = await run(looks(4), { tools: [look], maxTurns: 5 })
    expect([loopTexts(asked.state), loopTexts(notAsked.state)]).toEqual([[], []])
  })

  test('report a limit anew after it was raised', async () => {
    const going = begin(looks(7), {
      tools: [
        reader('Look', () => {
          going.loop.set({ limits: { maxTurns: 12 } })
          return 'seen'
        }),
      ],
      maxTurns: 2,
      limitReminders: true,
    })
    const { state, terminal } = await going.end()
    expect([terminal.reason, loopTexts(state)]).toEqual(['completed', ['Remaining in this run: 6 of 12 turns.']])
  })

  test('report a limit anew when the same share is used after it was raised', async () => {
    let used = 0
    const going = begin(looks(7), {
      tools: [
        reader('Look', () => {
          if (++used === 6) going.loop.set({ limits: { maxTurns: 12 } })
          return 'seen'
        }),
      ],
      maxTurns: 10,
      limitReminders: true,
    })
    expect(loopTexts((await going.end()).state)).toEqual([
      'Remaining in this run: 5 of 10 turns.',
      'Remaining in this run: 6 of 12 turns.',
    ])
  })

  test('report nothing twice, whenever the process was killed', async () => {
    const options = () => ({
      model: scriptedModel(looks(5)),
      tools: [look],
      maxTurns: 6,
      limitReminders: true,
      clock: createFakeClock({ autoAdvance: true }),
    })
    const { steps, state } = await run(looks(5), options())
    const reminders = loopTexts(state)
    expect(reminders).toHaveLength(2)
    for (let recordCount = 1; recordCount < steps.records.length; recordCount++) {
      const ended = await resume(await killedAfter(recordCount, options()), options()).loop.ended
      expect([recordCount, loopTexts(ended.state)]).toEqual([recordCount, reminders])
    }
  })
})

test('hooks get the figures of the run, and what is left of its limits', async () => {
  const seen: HookFigures[] = []
  const hook = new CallableHook((context) => void seen.push(context.figures), { triggers: ['afterStep'] })
  await run(looks(2), {
    tools: [look],
    hooks: [hook],
    maxTurns: 5,
    maxToolCalls: 4,
    prices: dollarATokenPrices,
    maxRunUsd: 1e6,
  })
  expect(seen.map(({ turns, toolCalls, left }) => [turns, toolCalls, left.turns, left.toolCalls])).toEqual([
    [0, 1, 5, 3],
    [1, 2, 4, 2],
  ])
  expect(seen[1]?.usd).toBeGreaterThan(0)
  expect(seen[1]?.left.usd).toBe(1e6 - (seen[1]?.usd ?? 0))
  expect(Object.keys(seen[0]?.left ?? {})).toEqual(['turns', 'toolCalls', 'usd'])
})
