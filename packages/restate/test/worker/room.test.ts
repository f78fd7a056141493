// Holds rules of docs/spec.md: R-WORK-3a
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { attempt, mailSignal, type Found } from '../../src/engine/attempt.ts'
import { FakeInvocation } from '../support/fake-engine.ts'

const intent = (key: string): StepRecord => ({ type: 'intent', key, digest: null, intent: null, at: 1 })
const keysOf = ({ records }: Found): readonly string[] =>
  records.flatMap((record) => (record.type === 'intent' ? [record.key] : []))

/** Until it holds: what an attempt does at a rest takes some moments. */
async function when(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('a session at rest gives its place to one that waits, and begins again from the record when something comes', async () => {
  const invocation = new FakeInvocation()
  const begun: (Found & { readonly heard: string[] })[] = []
  let isWanted = false
  let looked = 0
  const going = (): Promise<unknown> =>
    attempt({
      engine: invocation.attempt(),
      mail: ['the prompt'],
      wantsRoom() {
        looked++
        return isWanted
      },
      begin(found) {
        const heard: string[] = []
        begun.push({ ...found, heard })
        return { deliver: (message) => heard.push(message), cancel() {}, run: () => new Promise(() => {}) }
      },
    })
  const first = going()
  await when(() => begun.length === 1)
  begun[0]?.log.append(intent('a'))
  begun[0]?.log.rests(null)
  await when(() => looked > 1)
  // Nobody wants it: it stays where it is.
  expect(begun[0]?.gone.aborted).toBe(false)
  isWanted = true
  await when(() => begun[0]?.gone.aborted === true)
  expect(() => begun[0]?.log.append(intent('b'))).toThrow('elsewhere')

  invocation.signal(mailSignal, 'the answer')
  await when(() => begun.length === 2 && begun[1]?.heard.length === 2)
  expect(begun.map(keysOf)).toEqual([[], ['a']])
  expect(begun[1]?.heard).toEqual(['the prompt', 'the answer'])
  begun[1]?.log.append(intent('c'))
  begun[1]?.log.finish('done')
  expect(await first).toBe('done')
  // Another attempt asks the engine for the same.
  expect(await going()).toBe('done')
  expect(begun).toHaveLength(2)
})
