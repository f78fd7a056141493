// Holds rules of docs/spec: R-WORK-12, R-WORK-12a
import { expect, test } from 'vitest'
import type { NumberedRequest, SessionRequest } from '../../src/service/messages.ts'
import { RequestsInOrder } from '../../src/service/requests-in-order.ts'

const prompt = (content: string): SessionRequest => ({ type: 'prompt', content })

function setting(onRecord: readonly string[] = []) {
  const handled: unknown[] = []
  const making: { readonly content: unknown; readonly done: () => void; readonly fail: () => void }[] = []
  const order = new RequestsInOrder({
    onRecord: new Set(onRecord),
    prepare: (content, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        making.push({
          content,
          done: () => resolve({ content: `ready: ${JSON.stringify(content)}` }),
          fail: () => reject(new Error('There is no such file.')),
        })
      }),
    hear: ({ id }, prepared) => void handled.push(prepared === undefined ? id : [id, prepared.content]),
    refuse: ({ id }, error) => void handled.push([id, String(error)]),
  })
  const take = (id: string, request: SessionRequest): void =>
    order.take({ id, number: handled.length + making.length, request } satisfies NumberedRequest)
  return { order, take, handled, making }
}

test('a later request is handled later, even if an earlier one takes long to prepare', async () => {
  const { order, take, handled, making } = setting()
  take('a', prompt('one'))
  take('b', { type: 'compact' })
  take('c', prompt('two'))
  expect([handled, order.isBusy]).toEqual([[], true])
  making[0]?.done()
  await new Promise((resolve) => setImmediate(resolve))
  expect(handled).toEqual([['a', 'ready: "one"'], 'b'])
  making[1]?.fail()
  await order.over()
  expect(handled.at(-1)).toEqual(['c', 'Error: There is no such file.'])
})

test('a request that ends a run is handled, and a prompt in preparation is refused', async () => {
  const { order, take, handled } = setting()
  take('a', prompt('one'))
  take('b', { type: 'interrupt' })
  await order.over()
  expect(handled).toEqual([['a', 'Error: It was retracted before a run took it.'], 'b'])
})

test('a prompt that is in a run on record is not prepared again', () => {
  const { take, handled, making } = setting(['a'])
  take('a', prompt('one'))
  expect([handled, making]).toEqual([['a'], []])
})
