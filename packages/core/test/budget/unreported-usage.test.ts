// Tests R-BUD-2 and R-BUD-5, for replies whose bill is not reported.
import { describe, expect, test } from 'vitest'
import { isJsonObject } from '../../src/entries/adapters.ts'
import { upperBoundOfMessages } from '../../src/model/tokens.ts'
import type { Model, StepRecord } from '../../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, dollarATokenPrices as prices, run, until } from '../support/harness.ts'

const cap = 4_000
/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt, 2 for the tools. */
const firstInput = 1_000 + 16 + 2 + 2
const zeros = { input_tokens: 0, output_tokens: 0 }
const noPrompt = { input_tokens: 0, output_tokens: 40 }

/** Removes the usage of one reply, by its number from 0. */
function withUnreportedUsage(script: readonly ScriptedReply[], number: number): ReturnType<typeof scriptedModel> {
  const model = scriptedModel(script, { maxOutputTokens: cap })
  const call: Model['call'] = async (request, options) => {
    const isIt = model.requests.length === number
    const reply = await model.call(request, options)
    return isIt ? { ...reply, billed: 'unknown' } : reply
  }
  return { ...model, requests: model.requests, call }
}

/** The tokens that each request reserved. */
function reserved(records: readonly StepRecord[]): readonly unknown[] {
  return records.flatMap((record) =>
    record.type === 'intent' && isJsonObject(record.intent) && record.intent['granted'] === true
      ? [record.intent['tokens']]
      : [],
  )
}

describe('charges a complete reply without a usage at its worst case', () => {
  test.each<[string, ReturnType<typeof scriptedModel>]>([
    [
      'reported as unknown',
      withUnreportedUsage([{ text: 'answer', usage: { input_tokens: 10, output_tokens: 1 } }], 0),
    ],
    ['reported as zeros', scriptedModel([{ text: 'answer', usage: zeros }], { maxOutputTokens: cap })],
    ['reported without its prompt', scriptedModel([{ text: 'answer', usage: noPrompt }], { maxOutputTokens: cap })],
  ])('%s, with a notice', async (_how, model) => {
    const { terminal, events } = await run([], { model, prices, maxBudgetUsd: 100_000 })
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 0, firstInput + cap])
    const notices = events.flatMap((event) => (event.type === 'notice' ? [event.message] : []))
    expect(notices).toEqual([expect.stringMatching(/reported (no usage|a usage without a prompt).*worst case/)])
  })
})

test('charges nothing for a reply without a model when its usage is zero, and the reported usage otherwise (R-PTC-6)', async () => {
  for (const [usage, cost] of [
    [zeros, 0],
    [{ input_tokens: 10, output_tokens: 1 }, 11],
  ] as const) {
    // prettier-ignore
    const model = scriptedModel([{ text: 'answer', usage }], { maxOutputTokens: cap })
    const call: Model['call'] = async (request, options) => ({
      ...(await model.call(request, options)),
      billed: 'nothing',
    })
    const { terminal, events } = await run([], { model: { ...model, call }, prices, maxBudgetUsd: 100_000 })
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', cost, cost])
    expect(events.filter(({ type }) => type === 'notice')).toEqual([])
  }
})

describe('reserves a reply without a count by its bytes when it follows the last count', () => {
  const text = 'é'.repeat(500)
  const replyBytes = 16 + 16 + 1_000
  const paused: ScriptedReply = {
    text: 'so far',
    stopReason: 'pause_turn',
    usage: { input_tokens: 1_000, output_tokens: 50 },
  }
  // Text that is read again has room for its frame: 16 tokens for the message, and 16 for its block.
  const expected = [firstInput + cap, 1_050 + 32 + cap, 1_050 + replyBytes + cap]

  test.each<[string, ReturnType<typeof scriptedModel>]>([
    [
      'reported as unknown',
      withUnreportedUsage(
        [paused, { text, stopReason: 'pause_turn', usage: { input_tokens: 1_050, output_tokens: 1 } }, 'end'],
        1,
      ),
    ],
    [
      'reported as zeros',
      scriptedModel([paused, { text, stopReason: 'pause_turn', usage: zeros }, 'end'], { maxOutputTokens: cap }),
    ],
    [
      'reported without its prompt',
      scriptedModel([paused, { text, stopReason: 'pause_turn', usage: noPrompt }, 'end'], { maxOutputTokens: cap }),
    ],
  ])('%s', async (_how, model) => {
    const { steps } = await run([], { model, prices, maxBudgetUsd: 100_000 })
    expect(reserved(steps.records)).toEqual(expected)
  })

  test('broken off', async () => {
    const broken: ScriptedReply = { text, streamError: { kind: 'connection', message: 'x' }, usage: zeros }
    const model = scriptedModel([paused, broken, 'end'], { maxOutputTokens: cap })
    const { steps } = await run([], { model, prices, maxBudgetUsd: 100_000 })
    const asked = model.requests[2]?.messages ?? []
    const [first, second, third = 0] = expected
    expect(reserved(steps.records)).toEqual([first, second, third + upperBoundOfMessages(asked, model, 3)])
  })
})

test('a run without a limit has numeric figures, however often the server-side tools may be used', async () => {
  const model = {
    ...scriptedModel([{ hang: true, text: 'half' }], { maxOutputTokens: cap }),
    maxServerToolUses: Infinity,
  }
  const going = begin([], { model, prices })
  await until(() => model.requests.length === 1)
  going.loop.abort()
  const { terminal, state } = await going.end()
  expect([terminal.reason, Number.isFinite(terminal.committedUsd)]).toEqual(['aborted_streaming', true])
  expect(JSON.parse(JSON.stringify(state.spent))).toEqual(state.spent)
})
