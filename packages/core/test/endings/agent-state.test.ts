import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AgentState, ConfigurationError, StopSignal, Transcript, type Json } from '../../src/index.ts'
import { ExecutionContinuation } from '../../src/compat/index.ts'

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

  test('is immutable: every with… returns a new one', () => {
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

  test('withExecutionContinued overrides the current signals', () => {
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

  test('survives a JSON round trip', () => {
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

  test('reads an unknown reason as unknown, and never throws', () => {
    const stored = {
      agentId: 'a',
      execution: { id: 'x', continuation: { stopSignals: [{ reason: 'from_the_future', message: 'm' }] } },
    }
    expect(AgentState.fromJSON(stored).stopReason()).toBe('unknown')
  })

  describe('that was stored', () => {
    const whole = () =>
      JSON.parse(
        JSON.stringify(
          AgentState.empty({ agentId: 'a', sessionId: 's' })
            .withEntry({
              kind: 'user',
              id: 'u',
              message: { role: 'user', content: [{ type: 'text', text: 'hi' }] },
              origin: 'prompt',
            })
            .withEntry({
              kind: 'assistant',
              id: 'b',
              message: {
                role: 'assistant',
                id: 'm',
                model: 'x',
                content: [
                  { type: 'thinking', thinking: '', signature: 's' },
                  { type: 'redacted_thinking', data: 'd' },
                  { type: 'text', text: 'looking' },
                  { type: 'server_tool_use', anything: 1 },
                  { type: 'tool_use', id: 't', name: 'Look', input: {} },
                ],
                stop_reason: 'tool_use',
                usage: {
                  input_tokens: 1,
                  output_tokens: 1,
                  cache_creation_input_tokens: 0,
                  cache_read_input_tokens: 0,
                },
              },
            })
            .withEntry({
              kind: 'user',
              id: 'r',
              message: {
                role: 'user',
                content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'seen' }] }],
              },
              origin: 'tool_results',
              details: { t: { lines: 1 } },
            })
            .withEntry({
              kind: 'attachment',
              id: 'x',
              attachment: { type: 'max_turns_reached', maxTurns: 1, turnCount: 2 },
            })
            .withEntry({ kind: 'attachment', id: 'y', attachment: { type: 'informational', message: 'm' } })
            .withEntry({ kind: 'media_removed', id: 'z', note: 'gone' })
            .withEntry({
              kind: 'compact_boundary',
              id: 'c',
              messages: [{ role: 'user', content: 'so far' }],
              trigger: 'auto',
              preTokens: 9,
              postTokens: 1,
            })
            .withStopSignal(limit),
        ),
      ) as Json

    test('is read back whole, with defaults for what an older version left out', () => {
      expect(JSON.parse(JSON.stringify(AgentState.fromJSON(whole())))).toEqual(whole())
      expect(JSON.parse(JSON.stringify(AgentState.fromJSON({})))).toEqual(
        JSON.parse(JSON.stringify(AgentState.empty())),
      )
      const old = AgentState.fromJSON({ agentId: 'a', execution: { id: 'x', figures: { steps: 3 } } })
      expect([old.executionId, old.execution()?.figures.steps, old.execution()?.figures.totalTokens]).toEqual([
        'x',
        3,
        0,
      ])
    })

    /** The stored state with the part at this path replaced. */
    const damaged = (path: readonly (string | number)[], value: unknown) => {
      const stored = whole()
      let part = stored as Record<string | number, unknown>
      for (const step of path.slice(0, -1)) part = part[step] as Record<string | number, unknown>
      part[path.at(-1)!] = value
      return stored
    }

    test.each<[readonly (string | number)[], unknown, string]>([
      [['agentId'], 7, 'agentId must be a text, but it is a number'],
      [['sessionId'], null, 'sessionId must be a text, but it is null'],
      [['metadata'], [], 'metadata must be an object, but it is a list'],
      [['execution'], 9, 'execution must be an object, but it is a number'],
      [['execution', 'id'], 9, 'execution.id must be a text, but it is a number'],
      [['execution', 'figures', 'costUsd'], '1', 'execution.figures.costUsd must be a number, but it is a text'],
      [
        ['execution', 'figures', 'usage'],
        {},
        'execution.figures.usage.input_tokens must be a number, but it is absent',
      ],
      [['transcript'], 'x', 'transcript must be a list, but it is a text'],
      [['transcript', 0], null, 'transcript[0] must be an object, but it is null'],
      [
        ['transcript', 0, 'kind'],
        'x',
        'transcript[0].kind must be one of user, assistant, attachment, compact_boundary, results_cleared, collapse_staged, media_removed, but it is "x"',
      ],
      [['transcript', 0, 'id'], 1, 'transcript[0].id must be a text, but it is a number'],
      [['transcript', 0, 'origin'], undefined, 'transcript[0].origin must be a text, but it is absent'],
      [
        ['transcript', 0, 'message', 'role'],
        'assistant',
        'transcript[0].message.role must be "user", but it is "assistant"',
      ],
      [
        ['transcript', 0, 'message', 'content'],
        { text: 'x' },
        'transcript[0].message.content must be a text or a list of blocks, but it is an object',
      ],
      [
        ['transcript', 0, 'message', 'content', 0],
        'x',
        'transcript[0].message.content[0] must be an object, but it is a text',
      ],
      [
        ['transcript', 0, 'message', 'content', 0, 'text'],
        1,
        'transcript[0].message.content[0].text must be a text, but it is a number',
      ],
      [
        ['transcript', 0, 'message', 'content', 0, 'type'],
        undefined,
        'transcript[0].message.content[0].type must be a text, but it is absent',
      ],
      [['transcript', 1, 'message', 'content'], 'x', 'transcript[1].message.content must be a list, but it is a text'],
      [
        ['transcript', 1, 'message', 'content', 4, 'id'],
        1,
        'transcript[1].message.content[4].id must be a text, but it is a number',
      ],
      [
        ['transcript', 1, 'message', 'usage', 'output_tokens'],
        null,
        'transcript[1].message.usage.output_tokens must be a number, but it is null',
      ],
      [
        ['transcript', 2, 'message', 'content', 0, 'content', 0, 'text'],
        null,
        'transcript[2].message.content[0].content[0].text must be a text, but it is null',
      ],
      [['transcript', 2, 'details'], 1, 'transcript[2].details must be an object, but it is a number'],
      [
        ['transcript', 3, 'attachment', 'maxTurns'],
        'x',
        'transcript[3].attachment.maxTurns must be a number, but it is a text',
      ],
      [
        ['transcript', 4, 'attachment', 'message'],
        1,
        'transcript[4].attachment.message must be a text, but it is a number',
      ],
      [['transcript', 5, 'note'], 1, 'transcript[5].note must be a text, but it is a number'],
      [
        ['transcript', 6, 'messages', 0, 'role'],
        'system',
        'transcript[6].messages[0].role must be one of user, assistant, but it is "system"',
      ],
    ])('and has a wrong %j is rejected with its path', (path, value, problem) => {
      expect(() => AgentState.fromJSON(damaged(path, value))).toThrow(
        new ConfigurationError(`The stored agent state cannot be read: ${problem}. Give what toJSON wrote.`),
      )
    })

    test.each([null, undefined, 7, [], 'x'])('as %j is rejected', (garbage) => {
      expect(() => AgentState.fromJSON(garbage)).toThrow(ConfigurationError)
    })

    test('garbage is rejected or can be run, never half read', () => {
      const part = fc.constantFrom(...paths(whole()))
      fc.assert(
        fc.property(part, fc.jsonValue(), (path, value) => {
          const read = readOrError(damaged(path, value))
          expect(read instanceof AgentState || read instanceof ConfigurationError).toBe(true)
          const state = read instanceof AgentState ? read : AgentState.empty()
          expect(() => [
            state.messages(),
            state.lastAnswer(),
            state.transcript.digest(),
            JSON.stringify(state),
          ]).not.toThrow()
          expect(Object.values(state.execution()?.figures ?? {}).some(Number.isNaN)).toBe(false)
        }),
        { numRuns: 500 },
      )
    })
  })

  test('a transcript alone is read in the same way', () => {
    const entries = [{ kind: 'media_removed', id: 'z', note: 'gone' }]
    expect(JSON.parse(JSON.stringify(Transcript.fromJSON(entries)))).toEqual(entries)
    expect(() => Transcript.fromJSON([{ kind: 'user' }])).toThrow(
      new ConfigurationError(
        'The stored transcript cannot be read: [0].id must be a text, but it is absent. Give what toJSON wrote.',
      ),
    )
  })
})

function readOrError(stored: Json): unknown {
  try {
    return AgentState.fromJSON(stored)
  } catch (error) {
    return error
  }
}

/** Every path in a JSON value. */
function paths(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return keys.flatMap((key) => {
    const next = [...path, key]
    return [next, ...paths((value as Record<string | number, Json>)[key]!, next)]
  })
}
