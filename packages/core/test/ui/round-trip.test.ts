// Tests a chat with the real reader of `ai`: the stream of a run returns as its history, and an approval as its answer.
import { readUIMessageStream, type UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { run, streamRun, tool, type PromptOptions, type RunOutcome } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { approvalsOf, modelMessagesOf, toUIMessageStream } from '../../src/ui/index.ts'

const question: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Pay the bill.' }] }

/** The answer as `useChat` has it, and the outcome of the run that streamed it. */
async function chat(
  options: PromptOptions,
): Promise<{ readonly answer: UIMessage; readonly outcome: RunOutcome<string> }> {
  const stream = streamRun(options)
  let answer: UIMessage | undefined
  // The types of `ai` have more chunks than a run makes.
  const chunks = toUIMessageStream(stream) as unknown as Parameters<typeof readUIMessageStream>[0]['stream']
  for await (const message of readUIMessageStream({ stream: chunks })) answer = message
  if (answer === undefined) throw new Error('The stream has no message.')
  return { answer, outcome: await stream.result }
}

/** Removes what a client cannot know, such as the model of an answer, and makes user text a list of blocks. */
function withoutModels(messages: RunOutcome['messages']): unknown {
  return messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  }))
}

test('a streamed run is restored unchanged, through JSON', async () => {
  const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'a bill of 5 dollars' })
  const fail = tool({ name: 'Fail', description: '', execute: () => { throw new Error('offline') } }) // prettier-ignore
  const calls = { text: 'I look.', toolCalls: [{ name: 'Look', id: 'c1' }, { name: 'Fail', id: 'c2', input: { a: 1 } }] } // prettier-ignore
  const model = scriptedModel([calls, { toolCalls: [{ name: 'Look', id: 'c3' }] }, 'It is paid.'])
  const { answer, outcome } = await chat({ model, tools: [look, fail], prompt: 'Pay the bill.' })
  // A JSON round trip returns the same value.
  const stored = JSON.parse(JSON.stringify([question, answer])) as UIMessage[]
  expect(modelMessagesOf(stored)).toEqual(withoutModels(outcome.messages))
})

test('a pending call is approved in the chat, and the next run executes it', async () => {
  const paid: number[] = []
  const pay = tool({
    name: 'Pay',
    description: '',
    inputSchema: { type: 'object', properties: { usd: { type: 'number' } }, required: ['usd'] },
    needsApproval: true,
    execute: ({ usd }) => `paid ${String(paid.push(usd))}`,
  })
  const asking = scriptedModel([{ toolCalls: [{ name: 'Pay', id: 'p1', input: { usd: 5 } }] }])
  const { answer, outcome } = await chat({ model: asking, tools: [pay], prompt: 'Pay the bill.' })
  expect([outcome.reason, approvalsOf([question, answer])]).toEqual(['needs_approval', undefined])
  // As `addToolApprovalResponse` does.
  const parts = answer.parts.map((part) =>
    part.type === 'tool-Pay' && 'state' in part && part.state === 'approval-requested'
      ? { ...part, state: 'approval-responded', approval: { id: part.approval.id, approved: true } }
      : part,
  )
  const uiMessages = [question, { ...answer, parts }]
  const model = scriptedModel(['It is paid.'])
  const next = await run({
    model,
    tools: [pay],
    messages: modelMessagesOf(uiMessages),
    approvals: approvalsOf(uiMessages),
  })
  expect([next.text, paid]).toEqual(['It is paid.', [5]])
})
