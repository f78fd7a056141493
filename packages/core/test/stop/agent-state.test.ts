import { describe, expect, test } from 'vitest'
import { AgentState, ExecutionContinuation, StopSignal, type Json } from '../../src/index.ts'

const limit = new StopSignal({ reason: 'steps_limit', message: 'Step limit reached: 10/10' })

describe('an agent state', () => {
  test('begins with no execution, no messages and no reason to stop', () => {
    const state = AgentState.empty({ agentId: 'a', sessionId: 's' })
    expect([state.execution(), state.executionId, state.stopReason(), state.messages(), state.lastAnswer()]).toEqual([
      null,
      '',
      null,
      [],
      '',
    ])
    expect(state.executionContinuation()).toBe(ExecutionContinuation.fresh())
    expect([state.agentId, state.sessionId, state.metadata]).toEqual(['a', 's', {}])
  })

  test('never changes: every with… gives a new one', () => {
    const state = AgentState.empty()
    const changed = state
      .withStopSignal(limit)
      .withExecutionContinued('go on')
      .withMetadata('key', 1)
      .withUserMessage('more')
    expect([state.stopSignals().size, state.messages().length, state.metadata]).toEqual([0, 0, {}])
    expect(changed.messages()).toEqual([
      { role: 'user', content: 'go on' },
      { role: 'user', content: 'more' },
    ])
    expect(changed.metadata).toEqual({ key: 1 })
  })

  test('withStopSignal appends to the signals of its execution', () => {
    const state = AgentState.empty().withStopSignal(limit).withStopSignal(StopSignal.userRequested())
    expect(state.execution()?.continuation().stopSignals().toString()).toBe(
      'steps_limit: Step limit reached: 10/10 | user_requested: Stop requested by user',
    )
    expect(state.execution()?.continuation()).toEqual(state.executionContinuation())
    expect(state.executionContinuation().shouldStop()).toBe(true)
  })

  test('withExecutionContinued overrides the signals that stand', () => {
    const state = AgentState.empty().withStopSignal(limit).withExecutionContinued()
    expect(state.executionContinuation().explain()).toBe(
      'Stop Signals: steps_limit: Step limit reached: 10/10; Continuation Requested: Yes',
    )
    expect(state.executionContinuation().shouldStop()).toBe(false)
    expect(state.messages()).toEqual([])
  })

  test('stopReason is the reason of the most urgent signal', () => {
    expect(
      AgentState.empty()
        .withStopSignal(limit)
        .withStopSignal(new StopSignal({ reason: 'error' }))
        .stopReason(),
    ).toBe('error')
  })

  test('loses nothing as JSON', () => {
    const state = AgentState.empty({ agentId: 'a', sessionId: 's' })
      .withUserMessage([{ type: 'text', text: 'hello' }])
      .withStopSignal(new StopSignal({ reason: 'cost_limit', context: { used: 1.5 }, source: 'me' }))
      .withExecutionContinued()
      .withMetadata('deep', { list: [1, null, 'x'] })
    const stored = JSON.parse(JSON.stringify(state)) as Json
    const restored = AgentState.fromJSON(stored)
    expect(JSON.parse(JSON.stringify(restored))).toEqual(stored)
    expect(restored.messages()).toEqual(state.messages())
    expect(restored.executionContinuation().toJSON()).toEqual(state.executionContinuation().toJSON())
    expect(JSON.parse(JSON.stringify(AgentState.fromJSON(JSON.parse(JSON.stringify(AgentState.empty())))))).toEqual(
      JSON.parse(JSON.stringify(AgentState.empty())),
    )
  })

  test('an unknown reason in stored data is unknown, and never an exception', () => {
    const stored = {
      agentId: 'a',
      execution: { id: 'x', continuation: { stopSignals: [{ reason: 'from_the_future', message: 'm' }] } },
    }
    expect(AgentState.fromJSON(stored).stopReason()).toBe('unknown')
    for (const garbage of [null, 7, [], { transcript: 'x', metadata: [], execution: 9 }])
      expect(AgentState.fromJSON(garbage).stopReason()).toBeNull()
  })
})
