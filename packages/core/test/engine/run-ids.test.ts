// Tests R-SDK-14: no two runs of a session share a name, so no two payments share an idempotency key.
import { describe, expect, test } from 'vitest'
import {
  AgentState,
  ConfigurationError,
  QueryEngine,
  startRun,
  Transcript,
  type SdkMessage,
  type TranscriptEntry,
} from '../../src/index.ts'
import { AgentBuilder } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, tool } from '../support/harness.ts'

/** A tool that pays, with a key by which its service distinguishes payments. */
function payingTool() {
  const keys: string[] = []
  const pay = tool('Pay', (_input, { idempotencyKey }) => (keys.push(idempotencyKey), 'paid'))
  return { keys, pay }
}

/** Repeats its call ids in every run, as some services do. */
const model = () =>
  scriptedModel(({ messages }) => (messages.at(-1)?.content === 'pay' ? calls({ name: 'Pay', id: 'call_0' }) : 'done'))
const clock = () => createFakeClock({ autoAdvance: true })
const engineOver = (transcript: Transcript, more = {}) =>
  new QueryEngine({ model: model(), clock: clock(), sessionId: 's', transcript, ...more })

async function uuidsOf(messages: AsyncIterable<SdkMessage>): Promise<string[]> {
  const uuids: string[] = []
  for await (const { uuid } of messages) uuids.push(uuid)
  return uuids
}

/** The value after a round trip through a session file. */
const throughStorage = (transcript: Transcript) =>
  Transcript.of(JSON.parse(JSON.stringify(transcript)) as readonly TranscriptEntry[])

describe('an engine over an old session', () => {
  test('continues the numbering of its runs: no key and no uuid repeats', async () => {
    const { keys, pay } = payingTool()
    const uuids: string[] = []
    let transcript = Transcript.empty()
    for (let processes = 0; processes < 3; processes++) {
      const engine = engineOver(throughStorage(transcript), { tools: [pay] })
      for (let runs = 0; runs < 2; runs++) uuids.push(...(await uuidsOf(engine.submit('pay'))))
      transcript = engine.transcript
    }
    const ids = ['call_0', 'call_0_2', 'call_0_3', 'call_0_4', 'call_0_5', 'call_0_6']
    expect(keys).toEqual(ids.map((id, index) => `s/run${index + 1}/tool:1:0:${id}`))
    expect(new Set(uuids).size).toBe(uuids.length)
  })

  test('that was rewound is passed the number of its runs', async () => {
    const { keys, pay } = payingTool()
    const first = engineOver(Transcript.empty(), { tools: [pay] })
    await uuidsOf(first.submit('hello'))
    const rewound = first.transcript
    await uuidsOf(first.submit('pay'))
    for (const runsBefore of [2, 1]) await uuidsOf(engineOver(rewound, { tools: [pay], runsBefore }).submit('pay'))
    expect(keys.map((key) => key.split('/')[1])).toEqual(['run2', 'run3', 'run2'])
    for (const runsBefore of [-1, 0.5, Number.NaN])
      expect(() => engineOver(rewound, { runsBefore })).toThrow(ConfigurationError)
  })
})

test('names a run over a transcript with a name that is not in it', () => {
  const runOf = (...ids: readonly string[]) => {
    const entries = ids.map((id): TranscriptEntry => ({
      kind: 'attachment',
      id,
      attachment: { type: 'informational', message: 'x' },
    }))
    return startRun({ prompt: 'go', transcript: Transcript.of(entries) }).run.runId
  }
  expect([
    runOf(),
    runOf('run1/prompt:0', 'run2/prompt:3'),
    runOf('run7/agent:1:0:x/prompt:0', 'run3/prompt:3'),
    runOf('run4-k3x/tool_results:1'),
    runOf('agent/message:0', 's/run9/message:1', 'runner/x', 'run', 'mine'),
    runOf(`run${'9'.repeat(40)}/prompt:0`),
  ]).toEqual(['run1', 'run3', 'run8', 'run5', 'run1', 'run1'])
})

describe('an agent', () => {
  const agentWith = (pay: ReturnType<typeof payingTool>['pay']) =>
    AgentBuilder.base({ model: model(), clock: clock(), tools: [pay] }).build()
  const start = AgentState.empty({ sessionId: 's' })

  test('names executions by the whole conversation: two branches of one state pay twice', async () => {
    const { keys, pay } = payingTool()
    const agent = agentWith(pay)
    const greeted = await agent.execute(start.withUserMessage('hello'))
    const branches = ['to Ann', 'to Bob'].map((text) => greeted.withUserMessage(text).withUserMessage('pay'))
    for (const branch of branches) await agent.execute(branch)
    expect(new Set(keys).size).toBe(2)
  })

  test('gives one state one name, also after it was stored: a second try pays once', async () => {
    const { keys, pay } = payingTool()
    const agent = agentWith(pay)
    const state = start.withUserMessage('pay')
    const done = await agent.execute(state)
    await agent.execute(AgentState.fromJSON(JSON.parse(JSON.stringify(state))))
    await agent.execute(state, { runId: 'another' })
    expect([keys[1] === keys[0], keys[2]]).toEqual([true, 's/another/tool:1:0:call_0'])
    expect((await agent.execute(done.withUserMessage('pay'))).executionId).not.toBe(done.executionId)
  })
})
