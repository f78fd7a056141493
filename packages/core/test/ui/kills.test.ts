// A process is killed after every chunk that a client received, with only the stored records. The client reconnects to
// the run that another process resumed, and to its record once it is over.
import type { UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { resume, startRun, streamRun, type RunOptions } from '../../src/index.ts'
import { DurableStepEngine, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { eventIdOf, recordedEvents, shareRun, toUIMessageStream, type UIMessageChunk } from '../../src/ui/index.ts'
import { reader, tool } from '../support/harness.ts'
import { collected, messageOf, chunksSentBy, type SentChunk } from './support.ts'

const look = (id: string): { readonly id: string; readonly name: string } => ({ id, name: 'Look' })

const script: readonly ScriptedReply[] = [
  { text: 'One.', toolCalls: [look('a'), { id: 'b', name: 'Write' }] },
  { thinking: 'Hm.', text: 'Two.', toolCalls: [look('c')] },
  'Three.',
]

/** The reply of the model to the process that resumes. */
const otherScripts: readonly (readonly ScriptedReply[])[] = [
  ['Other.'],
  [{ toolCalls: [look('q')] }, 'Later.'],
  [{ thinking: 'Oh.', text: 'Other.', toolCalls: [{ id: 'r', name: 'Write' }, look('s'), look('t')] }, 'Later.'],
]

const optionsOf = (replies: readonly ScriptedReply[]): RunOptions => ({
  model: scriptedModel(replies),
  clock: createFakeClock({ autoAdvance: true }),
  tools: [reader('Look', 'seen'), tool('Write', 'written')],
})

/** A slow store, like one behind a network. */
class SlowStore {
  readonly keeps = 'all'
  readonly #records: StepRecord[] = []
  #stored = 0

  append(record: StepRecord): void {
    this.#records.push(structuredClone(record))
  }

  async flush(): Promise<void> {
    const upTo = this.#records.length
    await new Promise((resolve) => setTimeout(resolve, 2))
    this.#stored = Math.max(this.#stored, upTo)
  }

  /** What remains after a kill at this moment. */
  left(): readonly StepRecord[] {
    return this.#records.slice(0, this.#stored)
  }
}

const visible = (message: UIMessage | undefined): unknown => JSON.parse(JSON.stringify(message ?? null))
const chunksIn = (sentChunks: readonly SentChunk[]): readonly UIMessageChunk[] => sentChunks.map(({ chunk }) => chunk)

test('a client has what the record contains, whenever the process was killed', { timeout: 60_000 }, async () => {
  const log = new SlowStore()
  const clock = createFakeClock({ autoAdvance: true })
  const steps = new DurableStepEngine({ log, clock })
  const run = streamRun(startRun({ prompt: 'go' }), { ...optionsOf(script), clock, steps })
  const sentChunks: SentChunk[] = []
  const kills: (readonly StepRecord[])[] = []
  const shared = shareRun(run, { flush: () => log.flush() })
  for await (const chunk of toUIMessageStream(shared) as unknown as AsyncIterable<UIMessageChunk>) {
    sentChunks.push({ id: eventIdOf(chunk) ?? '', chunk })
    kills.push(log.left())
  }
  expect(sentChunks.length).toBeGreaterThan(30)
  const isOver = (records: readonly StepRecord[]): boolean => records.some(({ type }) => type === 'end')
  for (const [cut, records] of kills.entries()) {
    // A client that received anything has a run to reconnect to.
    expect(records.length).toBeGreaterThan(0)
    if (isOver(records)) continue
    const had = await messageOf(chunksIn(sentChunks.slice(0, cut + 1)))
    for (const replies of otherScripts) {
      const options = optionsOf(replies)
      const resumed = resume(structuredClone(records), options)
      const going = shareRun(resumed.loop, { past: await recordedEvents(records, options) })
      const whole = visible(await messageOf(chunksIn(await chunksSentBy(toUIMessageStream(going)))))
      const after = sentChunks[cut]?.id
      for (const source of [going, await recordedEvents(resumed.steps.records, options)]) {
        const rest = await collected(toUIMessageStream(source, { after }))
        expect([after, visible(await messageOf(rest, had))]).toEqual([after, whole])
      }
    }
  }
})
