// Tests R-DEC-6c: a run for a last answer makes one request without tools, whatever the model replies.
import { describe, expect, test } from 'vitest'
import { allowAll, QueryEngine, type SdkMessage, tool } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'

const looks: ScriptedReply = { toolCalls: [{ name: 'Look', input: {} }] }

async function resultOf(messages: AsyncIterable<SdkMessage>) {
  let last: SdkMessage | undefined
  for await (const message of messages) last = message
  if (last?.type !== 'result') throw new Error('It has no result.')
  return last
}

async function engineAtLimit(last: ScriptedReply, more: { readonly wrapUp?: boolean } = {}) {
  let looked = 0
  const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => `seen ${++looked}` })
  const model = scriptedModel([looks, last, 'What comes after.'])
  const engine = new QueryEngine({ model, tools: [look], permissions: allowAll, maxTurns: 1, ...more })
  expect((await resultOf(engine.submit('go'))).subtype).toBe('error_max_turns')
  return { engine, model, looked: () => looked }
}

describe('one last answer', () => {
  test('is one request without tools, and the run is completed', async () => {
    const { engine, model } = await engineAtLimit('All is said.')
    expect(await resultOf(engine.lastAnswer())).toMatchObject({ subtype: 'success', result: 'All is said.' })
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, 'none'])
  })

  test('runs nothing when it calls a tool anyway, and makes no more requests', async () => {
    const { engine, model, looked } = await engineAtLimit(looks)
    expect(await resultOf(engine.lastAnswer())).toMatchObject({ subtype: 'success', is_error: false })
    expect([model.requests.length, looked()]).toEqual([2, 1])
    // The conversation continues from there.
    expect((await resultOf(engine.submit('and then?'))).subtype).toBe('success')
  })

  test('takes no queued message: the next run takes it', async () => {
    const { engine, model } = await engineAtLimit('All is said.')
    engine.steer('and this')
    await resultOf(engine.lastAnswer())
    expect(engine.waiting.map(({ content }) => content)).toEqual(['and this'])
    expect(model.requests.length).toBe(2)
  })

  test.each([
    ['error', { error: { kind: 'invalid_request', message: 'No.', status: 400 } }, 'model_error'],
    ['too long', { error: { kind: 'prompt_too_long', message: 'Too long.', status: 413 } }, 'prompt_too_long'],
  ] as const)('that fails (%s) is not a completed run', async (_, reply, reason) => {
    const { engine, model } = await engineAtLimit(reply)
    expect(await resultOf(engine.lastAnswer())).toMatchObject({ is_error: true, terminal_reason: reason })
    expect(model.requests.length).toBe(2)
  })

  const broke = { kind: 'connection', message: 'The line broke.' } as const
  test.each([
    ['refused', { text: 'No.', stopReason: 'refusal' }, 'refusal'],
    ['cut', { text: 'All is', stopReason: 'max_tokens' }, 'max_output_tokens'],
    ['cut in a call', { ...looks, stopReason: 'max_tokens' }, 'max_output_tokens'],
    ['broken', { text: 'All is', streamError: broke }, 'model_error'],
    ['paused', { text: 'All is', stopReason: 'pause_turn' }, 'model_error'],
    ['too long for the window', { text: 'All is', stopReason: 'model_context_window_exceeded' }, 'prompt_too_long'],
  ] as const)('that is %s is reported as such, and nothing more is asked', async (_, reply, reason) => {
    const { engine, model } = await engineAtLimit(reply)
    expect(await resultOf(engine.lastAnswer())).toMatchObject({ is_error: true, terminal_reason: reason })
    expect(model.requests.length).toBe(2)
    // The conversation continues from there.
    expect((await resultOf(engine.submit('and then?'))).subtype).toBe('success')
  })

  test('that is interrupted ends as such', async () => {
    const { engine } = await engineAtLimit({ hang: true })
    const running = resultOf(engine.lastAnswer())
    await new Promise((resolve) => setTimeout(resolve))
    engine.interrupt()
    expect(await running).toMatchObject({ terminal_reason: 'aborted_streaming' })
  })

  test('needs a conversation', async () => {
    const engine = new QueryEngine({ model: scriptedModel(['x']) })
    await expect(resultOf(engine.lastAnswer())).rejects.toMatchObject({ code: 'configuration' })
  })
})
