// Tests R-STEP-1 for readers of events: a reader keeps up with a model that answers at once, and a slow reader delays nothing.
import { describe, expect, test } from 'vitest'
import { streamRun, startRun, tool, type RunStream } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const turns = 40
const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })

/** A run whose model and tool answer at once. `onRequest` receives the number of each request. */
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
    // The reader has received the iteration and is processing it.
    [3, 1],
    [12, 1],
  ])('keeps up with %i awaits per event', async (awaits, maxBehind) => {
    let iterations = 0
    const behind: number[] = []
    const running = instantRun((request) => behind.push(request - iterations))
    for await (const event of running) {
      for (let count = 0; count < awaits; count++) await Promise.resolve()
      if (event.type === 'lap') iterations++
    }
    expect([iterations, Math.max(...behind)]).toEqual([turns, maxBehind])
  })

  test('does not delay the run when it reads nothing', async () => {
    let requests = 0
    const running = instantRun(() => requests++)
    const reader = running[Symbol.asyncIterator]()
    await reader.next()
    expect([(await running.result).reason, requests]).toEqual(['completed', turns + 1])
  })
})
