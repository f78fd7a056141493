import { readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk as AiChunk } from 'ai'
import {
  createMemorySteps,
  streamRun,
  startRun,
  type MemorySteps,
  type RunEvent,
  type RunOptions,
  type RunStream,
} from '../../src/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { eventIdOf, type UIMessageChunk } from '../../src/ui/index.ts'

/** A chunk as a client receives it. */
export interface SentChunk {
  readonly id: string
  readonly chunk: UIMessageChunk
}

export interface Started {
  readonly run: RunStream
  readonly steps: MemorySteps
}

export function started(options: RunOptions): Started {
  const clock = options.clock ?? createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  return { run: streamRun(startRun({ prompt: 'go' }), { ...options, clock, steps }), steps }
}

export async function collected<Item>(items: AsyncIterable<Item> | ReadableStream<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of items as AsyncIterable<Item>) all.push(item)
  return all
}

export async function chunksSentBy(stream: ReadableStream<UIMessageChunk>): Promise<readonly SentChunk[]> {
  return (await collected(stream)).map((chunk) => ({ id: eventIdOf(chunk) ?? '', chunk }))
}

export const eventsOf = (run: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> => collected(run)

/** Every chunk as `ai` reads it from the wire. @throws for one that its schema rejects. */
export async function checkedChunks(chunks: readonly object[]): Promise<readonly AiChunk[]> {
  const schema = uiMessageChunkSchema()
  const checked: AiChunk[] = []
  for (const chunk of chunks) {
    const parsed: unknown = JSON.parse(JSON.stringify(chunk))
    const result = await schema.validate?.(parsed)
    if (result?.success !== true) throw new Error(`ai refuses ${JSON.stringify(chunk)}: ${String(result?.error)}`)
    checked.push(result.value)
  }
  return checked
}

/** The message that the reader of `ai` builds from chunks, starting from an existing one. */
export async function messageOf(chunks: readonly object[], before?: UIMessage): Promise<UIMessage | undefined> {
  const checked = await checkedChunks(chunks)
  const stream = new ReadableStream<AiChunk>({
    start(controller) {
      for (const chunk of checked) controller.enqueue(chunk)
      controller.close()
    },
  })
  let newest = before
  const message = before === undefined ? {} : { message: structuredClone(before) }
  const onError = (error: unknown): void => {
    // The chunk `error` is reported here, too: it is part of some endings.
    if (!String(error).includes('ending')) throw error
  }
  for await (const each of readUIMessageStream({ ...message, stream, onError })) newest = each
  return newest
}
