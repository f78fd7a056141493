// Tests invariants T1 to T3 of src/transcript.ts: sharing between runs is never visible.
import { expect, test } from 'vitest'
import { AgentState, streamRun, startRun, type Model, type ModelMessage, type StopHook } from '../src/index.ts'
import { AgentBuilder } from '../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../src/testing/index.ts'
import { calls, hook, reader, until } from './support/harness.ts'

/** A model that stores the very lists it received, and answers when it is released. */
function waitingModel() {
  const scripted = scriptedModel(({ messages }) => (messages.length < 3 ? calls('Look') : 'answer'))
  const prompts: (readonly ModelMessage[])[] = []
  const waiting: (() => void)[] = []
  const model: Model = {
    ...scripted,
    async call(request, options) {
      prompts.push(request.messages)
      await new Promise<void>((resolve) => waiting.push(resolve))
      return scripted.call(request, options)
    },
  }
  return { model, prompts, answer: (index: number) => waiting[index]?.() }
}

const clock = () => createFakeClock({ autoAdvance: true })
const asked = () => AgentState.empty().withUserMessage('go')
const runWith = [{ role: 'user', content: 'go' }]

test("parallel executions of one state do not see each other's messages", async () => {
  const { model, prompts, answer } = waitingModel()
  const state = asked()
  const agent = AgentBuilder.base({ model, clock: clock(), tools: [reader('Look')] }).build()
  const both = Promise.all([agent.execute(state), agent.execute(state)])
  await until(() => prompts.length === 2)
  answer(0)
  await until(() => prompts.length === 3)
  expect(prompts[1]).toEqual(runWith)
  answer(2)
  answer(1)
  await until(() => prompts.length === 4)
  answer(3)
  const [left, right] = await both
  expect([left.messages().length, right.messages().length, state.messages()]).toEqual([4, 4, runWith])
})

test('a run that breaks before its first message does not take the messages of another run', async () => {
  const start = startRun({ prompt: 'go' })
  const options = { model: scriptedModel(['answer']), clock: clock() }
  await streamRun(start, options).result
  const broken = streamRun(start, {
    ...options,
    stopWhen: {
      name: 'broken',
      evaluate: () => {
        throw new Error('guard bug')
      },
    },
  })
  const { terminal, state: ended } = await broken.ended
  expect([terminal.reason, ended.transcript.messages()]).toEqual(['error', runWith])
})

test('a message that a tool appends to its state is not in the request in flight', async () => {
  const prompts: (readonly ModelMessage[])[] = []
  let wrote = 0
  const look = reader('Look', (_input, { state: toolState }) => {
    wrote = toolState.withUserMessage('meddled').messages().length
    return 'x'
  })
  const scripted = scriptedModel([
    // The reader starts while the reply streams.
    {
      ...calls('Look'),
      before: () => {
        expect([wrote, prompts[0]]).toEqual([2, runWith])
      },
    },
    'answer',
  ])
  const model: Model = {
    ...scripted,
    call: (request, options) => {
      prompts.push(request.messages)
      return scripted.call(request, options)
    },
  }
  const done = await AgentBuilder.base({ model, clock: clock(), tools: [look] })
    .build()
    .execute(asked())
  expect([done.stopReason(), done.messages().length]).toEqual(['completed', 4])
})

test('a hook that adds a message at every step does not make the run copy its messages', async () => {
  const prompts = new Set<readonly ModelMessage[]>()
  const scripted = scriptedModel(({ messages }) => (messages.length < 12 ? calls('Look') : 'answer'))
  const model: Model = {
    ...scripted,
    call: (request, options) => {
      prompts.add(request.messages)
      return scripted.call(request, options)
    },
  }
  const remind = hook('afterStep', (context) => context.withState(context.state().withUserMessage('remember')))
  const agent = AgentBuilder.base({ model, clock: clock(), tools: [reader('Look')], hooks: [remind] }).build()
  const done = await agent.execute(asked())
  expect([done.messages().length, prompts.size]).toEqual([14, 1])
})

test('changes by a tool, a hook or a stop hook to its list of messages affect only that list', async () => {
  const meddle = (messages: readonly ModelMessage[]): void => {
    // Plain JavaScript code can try.
    const list = messages as ModelMessage[]
    expect(() => list.push({ role: 'user', content: 'meddled' })).toThrow(TypeError)
    expect(() => list.pop()).toThrow(TypeError)
  }
  const look = reader('Look', (_input, { state }) => (meddle(state.messages()), 'x'))
  const messageLists: (readonly ModelMessage[])[] = []
  const watching = hook(['beforeStep', 'afterStep'], (context) => {
    const messages = context.state().messages()
    meddle(messages)
    messageLists.push(messages)
  })
  const stopping: StopHook = { id: 'stopping', handle: ({ messagesForQuery }) => meddle(messagesForQuery) }
  const model = scriptedModel([calls('Look'), 'done'])
  const options = { model, clock: clock(), tools: [look], hooks: [watching], stopHooks: [stopping] }
  const { terminal } = await streamRun(startRun({ prompt: 'go' }), options).ended
  expect([terminal.reason, model.requests.map(({ messages }) => messages.length)]).toEqual(['completed', [1, 3]])
  expect(messageLists.map(({ length }) => length)).toEqual([1, 3, 3])
})
