// Spec R-HOST-19: which messages of a session a host receives.
import type { SdkMessage } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { HostMessages } from '../../src/host/host-messages.ts'
import { stateReaderOf } from '../../src/host/state-lines.ts'

const ids = { uuid: '11111111-1111-4111-8111-111111111111', session_id: 's' }
const init = { type: 'system', subtype: 'init', ...ids }
const result = { type: 'result', subtype: 'success', ...ids }
const user = (content: unknown, more: object = {}) => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
  ...more,
  ...ids,
})
const note = { type: 'system', subtype: 'informational', message: 'sent', ...ids }
const stage = { type: 'system', subtype: 'stage_ended', stage: 'notes', ...ids }
const suggestion = { type: 'prompt_suggestion', suggestion: 'Go on.', ...ids }
const hooks = { type: 'system', subtype: 'hook_summary', run_id: 'run1', hooks: [], ...ids }
const hookEnd = { type: 'system', subtype: 'hook_response', hook_id: 'h', ...ids }

/** The lines for these messages, in order. */
function linesFor(messages: readonly object[], flags: object = {}): readonly unknown[] {
  const select = new HostMessages()
  return messages.flatMap(
    // The part of a session that the selection reads.
    (message) => select.lineFor(message as SdkMessage, { flags, forwardsAgentText: false }) ?? [],
  )
}

const receivedTypes = (messages: readonly object[], flags: object = {}): readonly unknown[] =>
  linesFor(messages, flags).map((line) => Reflect.get(line as object, 'subtype') ?? Reflect.get(line as object, 'type'))

describe('user messages', () => {
  test('are sent for tool results and interruptions', () => {
    const toolResult = user([{ type: 'tool_result', tool_use_id: 't', content: 'hi' }])
    const interrupted = user([{ type: 'text', text: '[Request interrupted by user for tool use]' }])
    expect(linesFor([init, toolResult, interrupted])).toEqual([init, toolResult, interrupted])
  })

  test('of a subagent are sent if its text was requested', () => {
    const messages = [
      user('Look there.', { parent_tool_use_id: 'agent' }),
      user('Stop hook feedback: more', { parent_tool_use_id: 'agent', isSynthetic: true }),
    ]
    const select = new HostMessages()
    const lines = messages.flatMap(
      (message) => select.lineFor(message as unknown as SdkMessage, { flags: {}, forwardsAgentText: true }) ?? [],
    )
    expect(lines).toEqual(messages.slice(0, 1))
  })

  test('of hooks, the loop and the host are sent only if all are requested', () => {
    const messages = [
      user('Stop hook feedback: more', { isSynthetic: true }),
      user('steer'),
      user([{ type: 'text', text: 'a' }]),
    ]
    expect(linesFor([init, ...messages])).toEqual([init])
    expect(linesFor([init, ...messages], { includeAllMessages: true })).toEqual([init, ...messages])
  })
})

describe('after the result of a run', () => {
  const behind = [note, stage, suggestion, hooks, hookEnd]

  test('only hook events are sent, if a flag asks for them', () => {
    expect(receivedTypes([init, result, ...behind])).toEqual(['init', 'success', 'hook_response'])
  })

  test('a suggestion and a hook summary are sent if their flags ask for them', () => {
    const flags = { promptSuggestions: true, hookSummary: true }
    expect(receivedTypes([init, result, ...behind], flags)).toEqual([
      'init',
      'success',
      'prompt_suggestion',
      'hook_summary',
      'hook_response',
    ])
  })

  test('everything is sent with --include-all-messages', () => {
    expect(receivedTypes([init, result, ...behind], { includeAllMessages: true })).toHaveLength(7)
  })

  test('the next run is sent like the first', () => {
    expect(receivedTypes([init, result, note, init, note, result])).toEqual([
      'init',
      'success',
      'init',
      'informational',
      'success',
    ])
  })
})

test('an informational message has the fields of the protocol', () => {
  expect(linesFor([note])).toEqual([
    { type: 'system', subtype: 'informational', content: 'sent', level: 'notice', ...ids },
  ])
})

test.each([
  [{}, {}, 'nobody'],
  [{}, { CLAUDE_CODE_SDK_READS_SESSION_STATE: '1' }, 'sdk'],
  [{}, { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1', CLAUDE_CODE_SDK_READS_SESSION_STATE: '1' }, 'host'],
  [{ includeAllMessages: true }, {}, 'host'],
])('session states with the flags %o and the variables %o are for: %s', (flags, env, expected) => {
  expect(stateReaderOf(flags, env)).toBe(expected)
})
