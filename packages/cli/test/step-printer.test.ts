// Output for each step: a subagent may use the same call IDs as the main loop.
import type { RunEvent, SdkMessage } from '@halting/core'
import { inputSummary } from '@halting/analysis/words'
import { expect, test } from 'vitest'
import { followActivity } from '../src/headless/activity.ts'
import { createStepPrinter } from '../src/headless/step-printer.ts'
import { styleFor } from '../src/io/style.ts'

// True: only these fields of messages and events are read.
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
  output: 'ok',
  isError: false,
})
const inAgent = (event: RunEvent): RunEvent => ({ type: 'agent', callId: 'call_0', agentType: 'Agent', event })

test('prints a result with the call of its own agent, and with its time', () => {
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

test('shows the agent again in the live line when one of its calls has ended', () => {
  const activity = followActivity(() => 0)
  activity.onEvent(begun('Agent'))
  activity.onEvent(inAgent(begun('Read')))
  expect(activity.line(80)).toContain('Read {} (and 1 more)')
  activity.onEvent(inAgent(ended('Read', 20)))
  expect(activity.line(80)).toMatch(/^Agent /)
})

/** The start event of Wait: it ends at this time, which is on another day. */
const waits = (untilMs: number): RunEvent => ({
  type: 'tool_update',
  callId: 'call_0',
  name: 'Wait',
  data: { waitsFor: 'bash_1 to end', sinceMs: untilMs - 600_000, untilMs, leftMs: 600_000 },
})
const fiveAfterTwo = new Date(2030, 0, 7, 14, 5).getTime()

test('R-WAIT-17: prints the start of a wait with its latest end', () => {
  const lines: string[] = []
  const printer = createStepPrinter(
    (text) => lines.push(text),
    styleFor(false, {}),
    () => 80,
    'none',
  )
  printer.see(asks(null, 'Wait'))
  printer.onEvent(waits(fiveAfterTwo))
  printer.onEvent(ended('Wait', 61_000))
  printer.see(shows(null, 'bash_1: Ended with exit code 0. Waited 1 min 1 s.'))
  printer.see(asks(null, 'Agent'))
  printer.see(asks('call_0', 'Wait'))
  printer.onEvent(inAgent(waits(fiveAfterTwo)))
  expect(lines.map((line) => line.trimEnd())).toEqual([
    '● Wait {}',
    '  … waiting for bash_1 to end, at most until 2030-01-07 14:05',
    '  ✓ bash_1: Ended with exit code 0. Waited 1 min 1 s. · 1 min 1 s',
    '● Agent {}',
    '● Wait {}',
    '  … waiting for bash_1 to end, at most until 2030-01-07 14:05',
  ])
})

test('R-WAIT-17: counts a wait down in the live line', () => {
  let now = 0
  const activity = followActivity(() => now)
  activity.onEvent(begun('Wait'))
  activity.onEvent(waits(fiveAfterTwo))
  now = 75_000
  expect(activity.line(80)).toContain('waiting for bash_1 to end, 8:45 left')
  now = 700_000
  expect(activity.line(80)).toContain('0:00 left')
})

test('prints an approximate end for a wait without a fixed end', () =>
  expect(inputSummary({ seconds: 30 })).toBe('30 s'))
