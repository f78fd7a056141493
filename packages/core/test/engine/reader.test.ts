// Holds R-STEP-1 of docs/spec where events are read: a reader keeps up with a model that answers at once, and a slow one slows nobody.
import { describe, expect, test } from 'vitest'
import { streamRun, startRun, tool, type RunStream } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const turns = 40
const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })

/** A run of which the model and the tool answer at once. `onRequest` is told the number of each request as it is made. */
function instantRun(onRequest: (request: number) => void): RunStream {
  const model = scriptedModel((_request, index) => {
    onRequest(index)
    return index < turns ? { toolCalls: [{ name: 'Look' }] } : 'done'
  })
  return streamRun(startRun({ prompt: 'go' }), { model, tools: [look] })
}

describe('a reader of the events', () => {
  test.each([
    [0, 0],
    // It has taken the lap, and is at work on it.
    [3, 1],
    [12, 1],
  ])('keeps up with %i awaits an event', async (awaits, mostBehind) => {
    let laps = 0
    const behind: number[] = []
    const running = instantRun((request) => behind.push(request - laps))
    for await (const event of running) {
      for (let count = 0; count < awaits; count++) await Promise.resolve()
      if (event.type === 'lap') laps++
    }
    expect([laps, Math.max(...behind)]).toEqual([turns, mostBehind])
  })

  test('is not waited for when it takes nothing', async () => {
    let requests = 0
    const running = instantRun(() => requests++)
    const reader = running[Symbol.asyncIterator]()
    await reader.next()
    expect([(await running.result).reason, requests]).toEqual(['completed', turns + 1])
  })
})
