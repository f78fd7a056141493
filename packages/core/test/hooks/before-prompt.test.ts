// Tests R-HOOK-3 (`beforeExecution`), R-HOOK-5b.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { resume, startRun, Transcript, type ModelMessage } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { calls, hook, reader, run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const contentsOf = (messages: readonly ModelMessage[]): readonly unknown[] => messages.map(({ content }) => content)
const note = (text: string, trigger: 'beforeExecution' | 'beforeStep' = 'beforeExecution') =>
  hook(trigger, (context) => context.withMessageBeforePrompt(text))
const word = (text: string) =>
  hook('beforeExecution', (context) => context.withState(context.state().withUserMessage(text)))

test("inserts a hook's message before the prompt, which stays the last user message, in each run", async () => {
  const first = await run(['one'], { hooks: [note('a note')] }, { prompt: 'go' })
  expect(contentsOf(first.model.requests[0]!.messages)).toEqual(['a note', 'go'])
  const next = { prompt: 'again', transcript: first.state.transcript }
  const second = await run(['two'], { hooks: [note('a newer note')] }, next)
  const [request] = second.model.requests
  expect(contentsOf(request!.messages)).toEqual([
    'a note',
    'go',
    [{ type: 'text', text: 'one' }],
    'a newer note',
    'again',
  ])
})

test('appends the message elsewhere, and in a run without a prompt', async () => {
  const later = await run(['one'], { hooks: [note('a note', 'beforeStep')] })
  expect(contentsOf(later.model.requests[0]!.messages)).toEqual(['go', 'a note'])
  const transcript = startRun({ prompt: 'said before' }).transcript
  const { transcript: answered } = (await run(['one'], {}, { prompt: 'more', transcript })).state
  const withoutPrompt = await run(['two'], { hooks: [note('a note')] }, { transcript: answered })
  expect(contentsOf(withoutPrompt.model.requests[0]!.messages).at(-1)).toBe('a note')
})

test('puts notes before the prompt and messages after it, each in order, also when stored', async () => {
  const added = fc.array(fc.record({ isNote: fc.boolean(), text: fc.stringMatching(/^[a-z]{1,4}$/) }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(added, async (all) => {
      const hooks = all.map(({ isNote, text }) => (isNote ? note(text) : word(text)))
      const { model, state } = await run(['one'], { hooks })
      const texts = (wanted: boolean) => all.filter(({ isNote }) => isNote === wanted).map(({ text }) => text)
      const expected = [...texts(true), 'go', ...texts(false)]
      expect(contentsOf(model.requests[0]!.messages)).toEqual(expected)
      const stored = Transcript.fromJSON(JSON.parse(JSON.stringify(state.transcript)))
      expect(stored.messages()).toEqual(state.transcript.messages())
      expect(contentsOf(stored.messages()).slice(0, -1)).toEqual(expected)
    }),
    { numRuns: 40 },
  )
})

test.each([-1, 0.5, 1e9, Number.MAX_VALUE])('loses no message with a stored position of %d', (messagesAfter) => {
  const entries = (['a', 'b'] as const).map((id) => ({
    kind: 'user',
    id,
    message: { role: 'user', content: id },
    origin: id === 'a' ? 'prompt' : 'hook',
    ...(id === 'b' && { messagesAfter }),
  }))
  expect(contentsOf(Transcript.fromJSON(entries).messages())).toSatisfy(
    (all: unknown[]) => all.length === 2 && all.includes('a') && all.includes('b'),
  )
})

test('shows the same when a run that was killed after any record is resumed', async () => {
  const newOptions = () => ({
    model: scriptedModel(({ messages }) => (messages.length < 4 ? calls('Look') : 'done')),
    tools: [reader('Look')],
    hooks: [note('a note'), word('a word')],
  })
  const { steps, state } = await run([], newOptions())
  const whole = contentsOf(state.transcript.messages())
  expect(whole.slice(0, 3)).toEqual(['a note', 'go', 'a word'])
  for (let count = 1; count < steps.records.length; count++) {
    const resumed = await resume(await killedAfter(count, newOptions()), newOptions()).loop.ended
    expect([count, contentsOf(resumed.state.transcript.messages())]).toEqual([count, whole])
  }
})
