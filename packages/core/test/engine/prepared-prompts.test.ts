// Tests R-MEDIA-12 to R-MEDIA-12b.
import { describe, expect, test } from 'vitest'
import { QueryEngine, type MessageContent, type SdkMessage } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import { imageOf, pngHead, tinyImage } from '../support/images.ts'

const huge = imageOf(pngHead(9_000, 10))
const shrink = (content: MessageContent): MessageContent =>
  typeof content === 'string' ? content : content.map((block) => (block.type === 'image' ? tinyImage : block))

async function all(messages: AsyncIterable<SdkMessage>): Promise<SdkMessage[]> {
  const read: SdkMessage[] = []
  for await (const message of messages) read.push(message)
  return read
}

describe('prepares a prompt before its run', () => {
  test('also asynchronously', async () => {
    const { engine, model } = engineOf(['a dot'], { prepareContent: async (content) => shrink(content) })
    expect(resultOf(await all(engine.submit([huge]))).subtype).toBe('success')
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [tinyImage] }])
  })

  test('only when it contains an image or a document', async () => {
    const prepared: MessageContent[] = []
    const prepareContent = (content: MessageContent): MessageContent => {
      prepared.push(content)
      return content
    }
    const { engine } = engineOf(() => 'yes', { prepareContent })
    for (const prompt of ['text', [{ type: 'text', text: 'text' } as const], [tinyImage]])
      await all(engine.submit(prompt))
    expect(prepared).toEqual([[tinyImage]])
  })

  test.each<[string, (content: MessageContent) => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['gives nothing', () => undefined],
    ['returns a number', () => 7],
  ])('with %s: the prompt stays unchanged, and the run reports the problem', async (_name, prepareContent) => {
    const runOptions = { prepareContent: prepareContent as (content: MessageContent) => MessageContent }
    const { engine, model } = engineOf([], runOptions)
    resultOf(await all(engine.submit([huge])))
    expect([engine.lastTerminal?.reason, model.requests.length]).toEqual(['image_error', 0])
  })

  test('in the order in which the prompts arrived', async () => {
    const waiting: (() => void)[] = []
    const prepareContent = (content: MessageContent): Promise<MessageContent> =>
      new Promise((resolve) => {
        waiting.push(() => resolve(content))
      })
    const { engine, model } = engineOf(() => 'yes', { prepareContent })
    const runs = Promise.all([all(engine.submit([tinyImage])), all(engine.submit('second'))])
    await Promise.resolve()
    expect(model.requests.length).toBe(0)
    waiting.shift()?.()
    const [first] = await runs
    resultOf(first)
    const prompts = [...engine.transcript].flatMap((entry) =>
      entry.kind === 'user' && entry.origin === 'prompt' ? [entry.message.content] : [],
    )
    expect(prompts).toEqual([[tinyImage], 'second'])
  })

  test('and an interruption meanwhile applies to its run', async () => {
    let finish = (): void => {}
    const prepareContent = (content: MessageContent): Promise<MessageContent> =>
      new Promise((resolve) => {
        finish = () => resolve(content)
      })
    const model = scriptedModel(() => 'never')
    const engine = new QueryEngine({ model, prepareContent })
    const running = all(engine.submit([tinyImage]))
    await Promise.resolve()
    await Promise.resolve()
    engine.interrupt()
    finish()
    resultOf(await running)
    expect([engine.lastTerminal?.reason, model.requests.length]).toEqual(['aborted_streaming', 0])
    const next = all(engine.submit('again'))
    expect(resultOf(await next).subtype).toBe('success')
  })
})
