// How many requests the memory stage makes, as docs/guide/memory.md says (spec R-MEM-4).
import { readFileSync } from 'node:fs'
import { memoryStages } from '@halting/agent/memory'
import { afterRun } from '@halting/core/after'
import { QueryEngine } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { world } from './support.ts'

const none = '{"notes":[]}'
const cut = { text: '{"notes":[', stopReason: 'max_tokens' } as const
const fails = { error: { kind: 'overloaded', message: 'later', retryable: true } } satisfies ScriptedReply

/** Number of model calls of the stage, after a run with this prompt. */
async function requestsAfter(prompt: string, replies: readonly ScriptedReply[]): Promise<number> {
  const engine = new QueryEngine({ model: scriptedModel(['Done.']) })
  for await (const _ of engine.submit(prompt));
  const model = scriptedModel((_request, index) => replies[index] ?? replies.at(-1) ?? none)
  const settings = { autoMemoryEnabled: true }
  const stages = memoryStages({ owner: world().owner, settings, model })
  for await (const _ of afterRun(engine, stages));
  return model.requests.length
}

const said = 'I always want the tests run with pnpm.'

test.each<[string, string, readonly ScriptedReply[], number]>([
  ['none where nothing may be stored', '> quoted', [none], 0],
  ['one', said, [none], 1],
  ['two where the first answer does not fit', said, ['no JSON', none], 2],
  ['five more where no answer fits', said, ['no JSON'], 6],
  ['three more where every answer is cut', said, [cut], 4],
  ['two more attempts where each fails', said, [fails], 3],
])('%s', async (_what, prompt, replies, expected) => {
  expect(await requestsAfter(prompt, replies)).toBe(expected)
})

test('the guide has these figures', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/memory.md', import.meta.url), 'utf8')
  for (const words of ['makes no request', 'makes one, and up to five more', 'up to three times', 'at most twice'])
    expect(guide).toContain(words)
})
