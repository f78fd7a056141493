// Holds invariants T1 to T3 of src/transcript.ts and rules of docs/spec: R-BUD-6, R-HOOK-1, R-STEP-2: runs that share their parts do not affect each other.
import * as fc from 'fast-check'
import { explorePaths } from '../src/choices.ts'
import { afterAll, expect, test } from 'vitest'
import {
  differences,
  forgetAskers,
  oneState,
  replies,
  twoPrompts,
  type Decisions,
  type Name,
  type Schedule,
} from './twins.ts'
import { drawn, isWhole } from '../../core/test/support/deep.ts'

afterAll(forgetAskers)

/** One run proceeds until it ends, then the other, except where this path lets the other one take a turn. */
function switching(decisions: Decisions): Schedule {
  let last: Name = 'left'
  let number = 0
  return (waiting) => {
    const isThere = waiting.includes(last)
    const other = waiting.find((name) => name !== last)
    if (other !== undefined && (!isThere || decisions.choose(`switch ${number++}`, [false, true]))) last = other
    return last
  }
}

/** One run and then the other, except where this path lets one proceed. */
function alternating(decisions: Decisions): Schedule {
  let last: Name = 'right'
  let number = 0
  return (waiting) => {
    const isThere = waiting.includes(last)
    const other = waiting.find((name) => name !== last)
    if (other !== undefined && (!isThere || !decisions.choose(`stay ${number++}`, [false, true]))) last = other
    return last
  }
}

/** Draws only the schedule; everything else is plain. */
function scheduleAlone(decisions: Decisions): Decisions {
  return {
    choose: (label, options) =>
      /^(left|right) /.test(label) ? (options[0] as (typeof options)[number]) : decisions.choose(label, options),
  }
}

test.each([
  ['two prompts over one transcript, by turns', twoPrompts, alternating],
  ['one state twice, one after the other', oneState, switching],
])('two concurrent runs behave as each does alone: %s', { timeout: 600_000 }, async (_what, make, schedule) => {
  let paths = 0
  await explorePaths(1, async (path) => {
    paths++
    const found = await differences(make, isWhole ? path : scheduleAlone(path), schedule(path))
    expect(found, `path ${path.describe()}`).toEqual([])
  })
  // The number of points at which the other run could have proceeded.
  expect(paths).toBeGreaterThan(50)
})

test('two concurrent runs behave as each does alone, in any schedule', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(twoPrompts, oneState),
      fc.infiniteStream(fc.boolean()),
      fc.array(fc.tuple(fc.constantFrom('left', 'right'), fc.nat(60), fc.nat(4)), { maxLength: 2 }),
      fc.array(fc.nat(replies.length - 1), { minLength: 8, maxLength: 8 }),
      async (make, stream, outside, answers) => {
        const decisions: Decisions = {
          choose(label, options) {
            const [name, what, number] = label.split(' ')
            if (what === 'outside') {
              const found = outside.find(([of, at]) => of === name && at === Number(number))
              return options[found?.[2] ?? 0] as (typeof options)[number]
            }
            const request = Number(/model:(\d)/.exec(label)?.[1] ?? 0) % 4
            return options[answers[(name === 'left' ? 0 : 4) + request] ?? 0] as (typeof options)[number]
          },
        }
        const schedule: Schedule = (waiting) =>
          waiting[stream.next().value === true && waiting.length > 1 ? 1 : 0] ?? 'left'
        expect(await differences(make, decisions, schedule)).toEqual([])
      },
    ),
    { numRuns: drawn(600) },
  )
})
