// Tests R-WIRE-12c.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, replay, startRun, streamRun, type Model, type RunEvent } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'

/** A model that adds these warnings to its replies, one by one; they may have any type. */
function warning(...warnings: readonly unknown[]): Model {
  const model = scriptedModel(['Done.', 'Done.'])
  let replies = 0
  return {
    ...model,
    async call(request, options) {
      const reply = await model.call(request, options)
      // Plain JavaScript code can return any value here.
      return { ...reply, warnings: warnings[replies++] as readonly string[] }
    },
  }
}

const notices = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'notice' ? [event.message] : []))

async function eventsOf(stream: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('a warning of a model with a reply', () => {
  test('is a notice of the run, and of its replay', async () => {
    const steps = createMemorySteps()
    const model = warning(['No topK.', 'No seed.'])
    const events = await eventsOf(streamRun(startRun({ prompt: 'hi' }), { model, maxTurns: 2, steps }))
    expect(notices(events)).toEqual(['No topK.', 'No seed.'])
    const again = await replay(steps.records, { model, maxTurns: 2 })
    expect(notices(again.events)).toEqual(['No topK.', 'No seed.'])
  })

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    ['No topK.', []],
    [[], []],
    [[3, '', null, 'x'.repeat(2_000)], ['x'.repeat(1_000)]],
    [Array.from({ length: 30 }, (_, index) => `w${index}`), Array.from({ length: 20 }, (_, index) => `w${index}`)],
  ])('%j', async (warnings, expectedNotices) => {
    const run = streamRun(startRun({ prompt: 'hi' }), { model: warning(warnings), maxTurns: 2 })
    expect(notices(await eventsOf(run))).toEqual(expectedNotices)
  })
})
