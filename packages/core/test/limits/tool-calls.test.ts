// Tests R-CALLS-1 to R-CALLS-3, R-CALLS-2a to R-CALLS-2c.
import { describe, expect, test } from 'vitest'
import { ConfigurationError, resume, streamRun, startRun } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, reader, run, subagent, tool, type Run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** The result that the model got for each call, in order. */
function resultsIn(state: Run['state']): readonly string[] {
  return [...state.transcript].flatMap((entry) =>
    entry.kind === 'user' && Array.isArray(entry.message.content)
      ? entry.message.content.flatMap((block) => (block.type === 'tool_result' ? [String(block.content)] : []))
      : [],
  )
}

const refused = 'Not run: the limit of 3 tool calls is reached'

describe('a run with a limit of three tool calls', () => {
  test('continues when it makes exactly three calls', async () => {
    const { terminal } = await run([calls('Look', 'Look'), calls('Look'), 'Done.'], {
      tools: [reader('Look')],
      maxToolCalls: 3,
    })
    expect([terminal.reason, terminal.summary.toolResults]).toEqual(['completed', 3])
  })

  test.each([
    ['readers, which run in parallel', reader('Look', 'seen')],
    ['writers, one after another', tool('Look', 'seen')],
  ])('runs the calls of a reply that fit, and ends (%s)', async (_name, look) => {
    const { terminal, state } = await run([calls('Look'), calls('Look', 'Look', 'Look', 'Look'), 'Done.'], {
      tools: [look],
      maxToolCalls: 3,
    })
    expect(resultsIn(state)).toEqual(['seen', 'seen', 'seen', refused, refused])
    expect([terminal.reason, terminal.signal.message]).toEqual([
      'max_tool_calls',
      'Reached maximum number of tool calls (3); 2 further calls were requested',
    ])
    expect(terminal.signal.context).toMatchObject({ used: 3, limit: 3, refused: 2 })
  })

  test('makes a last answer when requested', async () => {
    const { terminal, state } = await run([calls('Look', 'Look', 'Look', 'Look'), 'That is what I have.'], {
      tools: [reader('Look')],
      maxToolCalls: 3,
      wrapUp: true,
    })
    expect(terminal.reason).toBe('max_tool_calls')
    expect(JSON.stringify(state.transcript.at(-1))).toContain('That is what I have.')
  })

  test('applies a limit that is raised during the run', async () => {
    const going = begin([calls('Look', 'Look', 'Look'), calls('Look', 'Look'), 'Done.'], {
      tools: [
        reader('Look', () => {
          going.loop.set({ limits: { maxToolCalls: 5 } })
          return 'seen'
        }),
      ],
      maxToolCalls: 3,
    })
    expect((await going.end()).terminal.reason).toBe('completed')
  })

  test('names the limit that refused a call, whatever is set after it', async () => {
    const going = begin([calls('Look', 'Look', 'Look', 'Look'), 'Done.'], {
      tools: [
        tool('Look', () => {
          going.loop.set({ limits: { maxToolCalls: 5 } })
          return 'seen'
        }),
      ],
      maxToolCalls: 3,
    })
    const { terminal, state } = await going.end()
    expect(resultsIn(state).at(-1)).toBe(refused)
    expect(terminal.signal.context).toMatchObject({ used: 3, limit: 3, refused: 1 })
  })

  test.each([0, -1, 2.5, NaN])('is rejected for %s', (maxToolCalls) => {
    expect(() => streamRun(startRun({ prompt: 'go' }), { model: scriptedModel(['Done.']), maxToolCalls })).toThrow(
      ConfigurationError,
    )
  })
})

describe('agents', () => {
  const model = () =>
    scriptedModel(({ messages }) => {
      if (messages[0]?.content === 'go') return messages.length === 1 ? calls('Agent', 'Agent') : { text: 'Done.' }
      return calls('Look')
    })

  test('share what is left after the calls of their message, in equal parts', async () => {
    let looks = 0
    const look = reader('Look', () => String(looks++))
    const { terminal, state } = await run([], { model: model(), tools: [subagent, look], maxToolCalls: 9 })
    // Two calls start agents; of the remaining seven calls, each agent may make three.
    expect([terminal.reason, looks, state.spent.toolCalls]).toEqual(['completed', 6, 8])
    expect(resultsIn(state).every((text) => text.includes('Reached maximum number of tool calls (3)'))).toBe(true)
  })
})

test('a resume under another limit runs the same calls, whenever the process was killed', async () => {
  const options = (maxToolCalls: number) => ({
    model: scriptedModel([calls('Look', 'Look', 'Look', 'Look'), 'Done.']),
    tools: [tool('Look', 'seen')],
    maxToolCalls,
    clock: createFakeClock({ autoAdvance: true }),
  })
  const { steps } = await run([calls('Look', 'Look', 'Look', 'Look'), 'Done.'], options(2))
  const first = steps.records.findIndex((record) => 'key' in record && record.key.includes('call_limit:'))
  expect(first).toBeGreaterThan(0)
  for (let recordCount = first + 1; recordCount < steps.records.length; recordCount++) {
    const records = await killedAfter(recordCount, options(2))
    const { terminal, state } = await resume(records, options(50)).loop.ended
    expect([recordCount, terminal.reason, state.spent.toolCalls]).toEqual([recordCount, 'max_tool_calls', 2])
  }
})

test('a run continued after its ending counts the earlier calls, and repeats no reminder', async () => {
  const options = { tools: [reader('Look', 'seen')], limitReminders: true, maxToolCalls: 4 }
  const ended = await run([calls('Look', 'Look'), calls('Look')], { ...options, maxTurns: 2 })
  expect([ended.terminal.reason, ended.state.spent.toolCalls]).toEqual(['max_turns', 3])
  const { transcript, spent } = ended.state
  const start = startRun({ transcript, carry: spent, prompt: 'go on' })
  const model = scriptedModel([calls('Look', 'Look'), 'Done.'])
  const { terminal, state } = await streamRun(start, { ...options, model, maxTurns: 10 }).ended
  expect([terminal.reason, state.spent.toolCalls]).toEqual(['max_tool_calls', 4])
  const reminders = [...state.transcript].flatMap((entry) =>
    entry.kind === 'user' && entry.origin === 'loop' ? [entry.message.content] : [],
  )
  expect(reminders).toEqual(['Remaining in this run: 1 of 2 turns; 2 of 4 tool calls.'])
})
