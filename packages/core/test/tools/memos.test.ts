// Tests R-TOOL-21, R-TOOL-21a: values that a tool stores for its later calls.
import { describe, expect, test } from 'vitest'
import { resume, Transcript, type Json, type RunOptions, type ToolContext } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, hook, json, reader, results, run, tool } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

/** The memos that a call finds: of earlier messages, and of its own. */
function found({ state, memos }: ToolContext): readonly [earlier: readonly Json[], here: readonly Json[]] {
  const earlier = state.transcript
    .since(0)
    .flatMap((entry) => (entry.kind === 'user' ? Object.values(entry.memos ?? {}) : []))
  return [earlier, memos ?? []]
}

/** A tool that leaves a memo, and one that reads them. */
function world() {
  const seen: unknown[] = []
  const tools = [
    reader('Read', (_input, context) => ({ content: 'shown', memo: { read: context.callId } })),
    tool('Edit', (_input, context) => (seen.push(found(context)), 'edited')),
  ]
  return { seen, tools }
}

const read = (id: string) => ({ name: 'Read', id })

describe('a memo', () => {
  test('is found by later calls of the same message and of later ones, and shown to nobody', async () => {
    const { seen, tools } = world()
    const script = [calls(read('a'), read('b'), 'Edit'), calls('Edit'), 'done']
    const ended = await run(script, { tools })
    const [a, b] = [{ read: 'a' }, { read: 'b' }]
    expect(seen).toEqual([
      [[], [a, b]],
      [[a, b], []],
    ])
    expect(JSON.stringify(results(ended))).not.toContain('memo')
    const stored = Transcript.fromJSON(json(ended.state.transcript.toJSON()))
    expect(stored.since(0).flatMap((entry) => (entry.kind === 'user' ? [entry.memos] : []))).toContainEqual({ a, b })
  })

  test('is found by a call that a resume makes after a recorded one', async () => {
    const first = world()
    const options = (tools: RunOptions['tools']): RunOptions => ({
      model: scriptedModel([calls(read('a'), 'Edit'), 'done']),
      clock: createFakeClock({ autoAdvance: true }),
      ...(tools !== undefined && { tools }),
    })
    const records = await killedBefore(
      (record) => record.type === 'intent' && record.key.startsWith('run1/tool:1:1:'),
      options(first.tools),
    )
    const second = world()
    await resume(records, { ...options(second.tools), model: scriptedModel(['done']) }).loop.ended
    expect([first.seen, second.seen]).toEqual([[], [[[], [{ read: 'a' }]]]])
  })

  test('outlives a hook that replaces the result', async () => {
    const { seen, tools } = world()
    const replaces = hook('afterToolUse', (context) => context.withToolOutput('other'), { tools: ['Read'] })
    await run([calls(read('a')), calls('Edit'), 'done'], { tools, hooks: [replaces] })
    expect(seen).toEqual([[[{ read: 'a' }], []]])
  })
})
