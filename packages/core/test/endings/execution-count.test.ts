// Tests R-HOOK-10.
import { describe, expect, test } from 'vitest'
import {
  AgentState,
  agentTool,
  CallableHook,
  ConfigurationError,
  QueryEngine,
  resume,
  type JsonObject,
  type ModelRequest,
} from '../../src/index.ts'
import { AgentBuilder, UseHook, UseTools } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, hook, json, reader, run, tool, type Script } from '../support/harness.ts'

const base = (script: Script) =>
  AgentBuilder.base({ model: scriptedModel(script), clock: createFakeClock({ autoAdvance: true }) })

describe('executionCount', () => {
  const seen: number[] = []
  const look = new UseHook(
    new CallableHook((context) => void seen.push(context.state().executionCount), { triggers: ['beforeExecution'] }),
  )
  const agent = base(() => 'answer')
    .withCapability(look)
    .build()
  const asked = (state: AgentState) => state.withUserMessage('go')

  test('counts the executions of a state, including the current one, for the state and its hooks', async () => {
    seen.length = 0
    const fresh = AgentState.empty()
    const once = await agent.execute(asked(fresh))
    const twice = await agent.execute(asked(once))
    const again = await agent.execute(asked(once).withMetadata('try', 2))
    expect([fresh, once, twice, again].map(({ executionCount }) => executionCount)).toEqual([0, 1, 2, 2])
    expect(seen).toEqual([1, 2, 2])
  })

  test('is stored in JSON; an older version had one execution for the state that it stored', async () => {
    const once = await agent.execute(asked(AgentState.empty()))
    const stored = json(once)
    expect(AgentState.fromJSON(stored).executionCount).toBe(1)
    const older = { ...(stored as JsonObject), executionCount: undefined }
    expect(
      [AgentState.fromJSON(json(older)), AgentState.fromJSON({})].map(({ executionCount }) => executionCount),
    ).toEqual([1, 0])
    expect(() => AgentState.fromJSON({ executionCount: 'two' })).toThrow(ConfigurationError)
  })

  test('counts while the agent is iterated', async () => {
    const walking = base([calls('Look'), 'answer'])
      .withCapability(new UseTools(reader('Look')))
      .build()
    const counts: (readonly [number, string | null])[] = []
    const once = await agent.execute(asked(AgentState.empty()))
    for await (const state of walking.iterate(asked(once))) counts.push([state.executionCount, state.stopReason()])
    expect(counts).toEqual([
      [2, null],
      [2, 'completed'],
    ])
  })

  test('is 1 for a run by itself and for a subagent, and the number of the run in an engine', async () => {
    seen.length = 0
    const spawn = agentTool({ name: 'Agent', description: 'sub', readOnly: true, spawn: () => ({ prompt: 'sub' }) })
    const looking = tool('Look', (_input, { state }) => (seen.push(state.executionCount), 'looked'))
    const script = ({ messages }: ModelRequest): ScriptedReply => {
      const [turn, isChild] = [
        messages.filter(({ role }) => role === 'assistant').length,
        messages[0]?.content === 'sub',
      ]
      if (isChild) return turn === 0 ? calls('Look') : 'found'
      return turn % 3 === 2 ? 'done' : calls(turn % 3 === 0 ? 'Look' : 'Agent')
    }
    const options = { tools: [spawn, looking] }
    await run(script, options)
    const engine = new QueryEngine({ model: scriptedModel(script), ...options })
    for (const prompt of ['one', 'two']) for await (const _ of engine.submit(prompt)) continue
    expect(seen).toEqual([1, 1, 1, 1, 2, 1])
  })

  test('is on record: a resumed run has it', async () => {
    seen.length = 0
    const note = () => hook('beforeInference', (context) => void seen.push(context.state().executionCount))
    const start = { prompt: 'go', executionCount: 3 }
    const { steps } = await run([calls('Look'), 'done'], { tools: [reader('Look')], hooks: [note()] }, start)
    const cut = steps.records.findIndex(({ type }) => type === 'lap') + 1
    const resumed = resume(steps.records.slice(0, cut), {
      model: scriptedModel(['done']),
      tools: [reader('Look')],
      hooks: [note()],
      clock: createFakeClock({ autoAdvance: true }),
    })
    expect([(await resumed.loop.result).reason, seen]).toEqual(['completed', [3, 3, 3]])
  })
})
