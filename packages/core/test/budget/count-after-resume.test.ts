// Tests R-BUD-2, R-BUD-13: a provider's count applies only to the prompt that it was made from.
import { describe, expect, test } from 'vitest'
import { isJsonObject, plainContext } from '../../src/entries/adapters.ts'
import { resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import {
  createFakeClock,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
} from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices as prices,
  reader,
  run,
  tool,
  type RunTestOptions,
} from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const cap = 2_000
const model = (options: ScriptedModelOptions = {}) =>
  scriptedModel([{ ...calls('Look'), usage: { input_tokens: 3_000, output_tokens: 40 } }, 'answer'], {
    maxOutputTokens: cap,
    ...options,
  })
const program = (more: Partial<RunOptions> = {}): RunOptions => ({
  model: model(),
  clock: createFakeClock({ autoAdvance: true }),
  system: 'short',
  tools: [reader('Look')],
  prices,
  maxBudgetUsd: 1_000_000,
  ...more,
})

/** The first turn is done and on record; the second has no record. */
const afterFirstTurn = async (): Promise<readonly StepRecord[]> => {
  let isDone = false
  return killedBefore((record) => {
    if (isDone) return true
    isDone = record.type === 'lap'
    return false
  }, program())
}

/** The reply of the first turn and its tool are on record; the iteration is not. */
const inFirstTurn = () => killedBefore(({ type }) => type === 'lap', program())

/** Tokens that the second request reserved. */
async function reserved(more: Partial<RunOptions>, records = afterFirstTurn()): Promise<unknown> {
  const { loop, steps } = resume(
    await records,
    program({ model: scriptedModel(['answer'], { maxOutputTokens: cap }), ...more }),
  )
  await loop.ended
  const intent = steps.records.find((record) => record.type === 'intent' && record.key.includes('model:2'))
  return intent?.type === 'intent' && isJsonObject(intent.intent) ? intent.intent['tokens'] : undefined
}

/** The count, the reply, and the bytes of the one result after it. */
const counted = 3_000 + 40 + (16 + 16 + 64 + 'read'.length) + cap
const longText = 'x'.repeat(50_000)

describe("after a resume, the provider's count", () => {
  test('is trusted by the same program', async () => {
    expect(await reserved({})).toBe(counted)
    // Options that are not part of the prompt may change.
    expect(await reserved({}, inFirstTurn())).toBe(counted)
    expect(await reserved({ maxTurns: 7, hooks: [], maxRetries: 1 })).toBe(counted)
  })

  test.each<[string, Partial<RunOptions>, number]>([
    ['a longer system prompt', { system: longText }, 50_000],
    ['a tool whose description is longer', { tools: [{ ...reader('Look'), description: longText }] }, 50_000],
    ['one more tool', { tools: [reader('Look'), { ...tool('Other'), description: longText }] }, 50_000],
    [
      'a tool with a longer description of its input',
      { tools: [reader('Look', 'read', { schema: { type: 'object', description: longText } })] },
      50_000,
    ],
    ['another model', { model: scriptedModel(['answer'], { id: 'other', maxOutputTokens: cap }) }, 1_000],
  ])('is not trusted with %s: every byte counts', async (_what, more, least) => {
    const tokens = await reserved(more)
    expect(tokens).not.toBe(counted)
    expect(tokens).toBeGreaterThanOrEqual(least + cap)
    // The same when the counted reply comes from the record.
    expect(await reserved(more, inFirstTurn())).toBe(tokens)
  })

  test('is not trusted by the blocking limit either', async () => {
    const context = { ...plainContext, blockingLimit: () => 10_000 }
    const records = await afterFirstTurn()
    const endOf = async (system: string) =>
      (await resume(records, program({ model: model(), context, system })).loop.ended).terminal.reason
    expect([await endOf('short'), await endOf(longText)]).toEqual(['completed', 'blocking_limit'])
  })

  test('does not apply to the fallback model', async () => {
    const busy = { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const
    const fallbackModel = scriptedModel(['answer'], { id: 'other', maxOutputTokens: cap })
    const main = scriptedModel((_request, index) => (index === 0 ? calls('Look') : busy), { maxOutputTokens: cap })
    const { steps } = await run([], { ...program(), model: main, fallbackModel, maxRetries: 0 } as never)
    const tokens = steps.records.flatMap((record) =>
      record.type === 'intent' && record.key.includes('model:') && isJsonObject(record.intent)
        ? [record.intent['tokens']]
        : [],
    )
    // The first request reported 10 and 5 tokens; the fallback model counts in its own tokens.
    expect(tokens).toEqual([expect.any(Number), 10 + 5 + (16 + 16 + 64 + 4) + cap, expect.any(Number)])
    expect(tokens[2]).toBeGreaterThanOrEqual(1_000 + cap)
  })
})

test('a count made with thinking disabled is not trusted once thinking is enabled: old thinking counts again', async () => {
  const thinking = 'x'.repeat(40_000)
  const script: readonly ScriptedReply[] = [
    { ...calls('Look'), thinking, before: () => going.loop.set({ thinking: { type: 'disabled' } }) },
    { ...calls('Look'), before: () => going.loop.set({ thinking: null }) },
    'answer',
  ]
  const going = begin([], { ...program(), model: scriptedModel(script, { maxOutputTokens: cap }) } as RunTestOptions)
  const { steps } = await going.end()
  const intent = steps.records.find((record) => record.type === 'intent' && record.key.includes('model:3'))
  const tokens = intent?.type === 'intent' && isJsonObject(intent.intent) ? intent.intent['tokens'] : 0
  expect(tokens).toBeGreaterThan(thinking.length)
})
