// Tests R-HOOK-3, R-HOOK-14, R-ABORT-4 and R-LOOP-4e: text that an afterToolUse hook removes from a result reaches no reader.
import { describe, expect, test } from 'vitest'
import type { HookContext, Tool } from '../../src/index.ts'
import { begin, calls, hook, reader, resultTexts, run, tick, toolEnds, tool, type Run } from '../support/harness.ts'

const redact = hook('afterToolUse', (context: HookContext) =>
  context.withToolOutput(String(context.toolOutput?.text).replaceAll('secret', '***')),
)
const withheld =
  'The call ended, but its result is withheld: the run was aborted before the hooks that inspect results had run.'

/** Everything that a reader of the run receives. */
const readableOutput = ({ events, state, terminal }: Run): string =>
  JSON.stringify([events, [...state.transcript], terminal])

/** A run whose only reply calls the tool, and is aborted. */
async function abortedBy(when: 'in the stream' | 'after the reply', secret: Tool, hooks = [redact]): Promise<Run> {
  const going = begin(
    [
      {
        ...calls(secret.name),
        before: async () => {
          await tick()
          going.loop.abort()
          if (when === 'in the stream') throw new Error('cut')
        },
      },
    ],
    { tools: [secret], hooks },
  )
  return going.end()
}

describe('an abort', () => {
  test.each(['in the stream', 'after the reply'] as const)(
    '%s withholds the result of an early start, which no hook has seen',
    async (when) => {
      const result = await abortedBy(when, reader('Secret', 'the secret'))
      expect([resultTexts(result), toolEnds(result)]).toEqual([[withheld], { call_0_0: 'done' }])
      expect(readableOutput(result)).not.toContain('the secret')
    },
  )

  test('withholds nothing when no hook would see it', async () => {
    const elsewhere = hook('afterToolUse', () => {}, { tools: ['Other'] })
    const result = await abortedBy('in the stream', reader('Secret', 'the secret'), [elsewhere])
    expect(resultTexts(result)).toEqual(['the secret'])
  })

  test.each<[what: string, content: string]>([
    ['that occurs while the tool runs', 'work'],
    ['that cuts the hook', 'hook'],
  ])('%s withholds its result', async (_what, where) => {
    const slow = hook('afterToolUse', () => new Promise<void>(() => queueMicrotask(() => going.loop.abort())))
    const secret = tool('Secret', () => {
      if (where === 'work') going.loop.abort()
      return { content: 'the secret', details: { raw: 'the secret' } }
    })
    const going = begin([calls('Secret')], { tools: [secret], hooks: where === 'work' ? [redact] : [slow] })
    const result = await going.end()
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['aborted_tools', [withheld]])
    expect(readableOutput(result)).not.toContain('the secret')
  })

  test('that interrupts the second hook withholds what the first had seen', async () => {
    const slow = hook('afterToolUse', () => new Promise<void>(() => queueMicrotask(() => going.loop.abort())))
    const going = begin([calls('Secret')], { tools: [tool('Secret', 'the secret')], hooks: [redact, slow] })
    expect(resultTexts(await going.end())).toEqual([withheld])
  })
})

describe('a result that a hook replaced', () => {
  test('removes its details', async () => {
    const secret = tool('Secret', () => ({ content: 'the secret', details: { raw: 'the secret' } }))
    const result = await run([calls('Secret'), 'done'], { tools: [secret], hooks: [redact] })
    expect(resultTexts(result)).toEqual(['the ***'])
    expect(readableOutput(result)).not.toContain('the secret')
  })

  test('keeps its details when a hook only read it', async () => {
    const plain = tool('Plain', () => ({ content: 'plain', details: { lines: 1 } }))
    const result = await run([calls('Plain'), 'done'], { tools: [plain], hooks: [hook('afterToolUse', () => {})] })
    expect(readableOutput(result)).toContain('{"call_0_0":{"lines":1}}')
  })

  test('is passed to onError hooks and the error policy for a failure', async () => {
    const received: unknown[] = []
    const failing = tool('Fail', () => {
      throw new Error('the secret')
    })
    const listening = hook('onError', ({ error }) => void received.push(error?.message))
    const result = await run([calls('Fail')], {
      tools: [failing],
      hooks: [redact, listening],
      errorPolicy: ({ message }) => (received.push(message), true),
    })
    expect([result.terminal.reason, result.terminal.signal.message]).toEqual(['error', 'tool Fail failed: the ***'])
    expect(received).toEqual(['the ***', 'the ***', 'tool Fail failed: the ***'])
    expect(readableOutput(result)).not.toContain('the secret')
  })
})
