// What is told of each step: a subagent may use the ids of calls that the main loop uses.
import type { RunEvent, SdkMessage } from '@halting/core'
import { expect, test } from 'vitest'
import { followActivity } from '../src/headless/activity.ts'
import { createStepPrinter } from '../src/headless/step-printer.ts'
import { styleFor } from '../src/io/style.ts'

// Of a message and an event what is told is read, and nothing else.
const asks = (parent: string | null, name: string): SdkMessage =>
  ({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id: 'call_0', name, input: {} }] },
    parent_tool_use_id: parent,
  }) as unknown as SdkMessage
const shows = (parent: string | null, content: string): SdkMessage =>
  ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: 'call_0', content }] },
    parent_tool_use_id: parent,
  }) as unknown as SdkMessage
const begun = (name: string): RunEvent => ({ type: 'tool_start', callId: 'call_0', name, input: {} })
const ended = (name: string, durationMs: number): RunEvent => ({
  type: 'tool_end',
  callId: 'call_0',
  name,
  status: 'done',
  durationMs,
})
const inAgent = (event: RunEvent): RunEvent => ({ type: 'agent', callId: 'call_0', agentType: 'Agent', event })

test('a result stands with the call of its own agent, and with its time', () => {
  const lines: string[] = []
  const printer = createStepPrinter(
    (text) => lines.push(text),
    styleFor(false, {}),
    () => 80,
    'none',
  )
  printer.see(asks(null, 'Agent'))
  printer.see(asks('call_0', 'Read'))
  printer.onEvent(inAgent(ended('Read', 20)))
  printer.see(shows('call_0', 'found'))
  printer.onEvent(ended('Agent', 3_000))
  printer.see(shows(null, 'the answer'))
  expect(lines.map((line) => line.trimEnd())).toEqual([
    '● Agent {}',
    '● Read {}',
    '  ✓ found · 20 ms',
    '  ✓ Agent {}: the answer · 3.0 s',
  ])
})

test('the live line tells of the agent again when a call of it has ended', () => {
  const activity = followActivity(() => 0)
  activity.onEvent(begun('Agent'))
  activity.onEvent(inAgent(begun('Read')))
  expect(activity.line(80)).toContain('Read {} (and 1 more)')
  activity.onEvent(inAgent(ended('Read', 20)))
  expect(activity.line(80)).toMatch(/^Agent /)
})
