// Tests R-SDK-3, R-SDK-3b to R-SDK-3d.
import { expect, test } from 'vitest'
import { ModelError, QueryEngine, type ContentBlock, type Model, type SdkMessage } from '../../src/index.ts'
import type { ModelCallOptions, ModelUpdate } from '../../src/entries/adapters.ts'

const usage = { input_tokens: 7, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const text = (blockContent: string): ContentBlock => ({ type: 'text', text: blockContent })

/** A model whose reply arrives when the test completes it. */
function steeredModel(call: (options: ModelCallOptions, attempt: number) => Promise<readonly ContentBlock[]>): Model {
  let attempts = 0
  return {
    id: 'steered',
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    async call(_request, options) {
      const attempt = ++attempts
      const content = await call(options, attempt)
      const id = `msg_${attempt}`
      return { message: { role: 'assistant', id, model: 'steered-1', content, stop_reason: 'end_turn', usage } }
    },
  }
}

const start = (attempt: number): ModelUpdate => ({
  type: 'api_event',
  event: { type: 'message_start', message: { id: `msg_${attempt}`, model: 'steered-1', usage: { input_tokens: 7 } } },
})
const block = (index: number, blockContent: ContentBlock, attempt: number): ModelUpdate => ({
  type: 'block',
  index,
  block: blockContent,
  messageId: `msg_${attempt}`,
})

async function all(engine: QueryEngine, see: (message: SdkMessage) => void = () => undefined): Promise<SdkMessage[]> {
  const list: SdkMessage[] = []
  for await (const message of engine.submit('go')) {
    list.push(message)
    see(message)
  }
  return list
}

const assistantLines = (messages: readonly SdkMessage[]) =>
  messages.flatMap((message) => (message.type === 'assistant' ? [message] : []))

test('emits the message of a block when the block is complete, before the reply ends', async () => {
  let completeReply = (): void => undefined
  const isHeard = new Promise<void>((resolve) => (completeReply = resolve))
  const [first, second] = [text('First.'), text('Second.')]
  const model = steeredModel(async (options, attempt) => {
    options.emit(start(attempt))
    options.emit(block(0, first, attempt))
    // Never settles unless the message of the block was read during the reply.
    await isHeard
    return [first, second]
  })
  const messages = await all(
    new QueryEngine({ model, sessionId: 's' }),
    ({ type }) => type === 'assistant' && completeReply(),
  )
  expect(assistantLines(messages).map(({ message }) => message)).toMatchObject([
    {
      id: 'msg_1',
      model: 'steered-1',
      content: [first],
      stop_reason: null,
      usage: { input_tokens: 7, output_tokens: 0 },
    },
    { id: 'msg_1', model: 'steered-1', content: [second], stop_reason: null, usage },
  ])
  expect(messages.at(-1)).toMatchObject({ type: 'result', result: 'First.Second.' })
})

test('emits one message per block, however it was streamed, with ids that never repeat', async () => {
  const thought: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 's' }
  const model = steeredModel(async (options, attempt) => {
    options.emit(start(attempt))
    options.emit(block(0, thought, attempt))
    if (attempt === 1)
      throw new ModelError({ kind: 'overloaded', message: 'busy', status: 529, retryable: true, retryAfterMs: 1 })
    // Copies, as an adapter may create them.
    return [{ ...thought }, text('Done.')]
  })
  const lines = assistantLines(await all(new QueryEngine({ model, sessionId: 's' })))
  expect(lines.map(({ message: { id, content } }) => [id, content[0]?.type])).toEqual([
    ['msg_1', 'thinking'],
    ['msg_2', 'thinking'],
    ['msg_2', 'text'],
  ])
  expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(3)
})

test('emits the message of a block before the event that ends it, with partial messages', async () => {
  const model = steeredModel(async (options, attempt) => {
    options.emit(start(attempt))
    options.emit(block(0, text('Done.'), attempt))
    options.emit({ type: 'api_event', event: { type: 'content_block_stop', index: 0 } })
    return [text('Done.')]
  })
  const messages = await all(new QueryEngine({ model, sessionId: 's', includePartialMessages: true }))
  const kinds = messages.map((message) => (message.type === 'stream_event' ? message.event['type'] : message.type))
  expect(kinds.filter((kind) => kind !== 'system')).toEqual([
    'message_start',
    'assistant',
    'content_block_stop',
    'result',
  ])
})
