// Holds rules of docs/spec: R-TERM-22a, R-TERM-76, R-TERM-76a.
import type { RunEvent } from '@halting/core'
import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createAttention } from '../../src/terminal/app/attention.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { followAwaitedReply } from '../../src/terminal/app/conversation.ts'
import { plainStyle, textDelta } from './view-support.ts'
import { virtualTerminal } from './virtual-terminal.ts'

describe('a silent model', () => {
  const start: RunEvent = { type: 'model_start', request: 1, attempt: 1, model: 'm' }
  const thinking: RunEvent = {
    type: 'model_update',
    request: 1,
    entryId: 'e',
    update: { type: 'thinking_delta', index: 0, text: 'Hm' },
  }
  const call: RunEvent = {
    type: 'model_update',
    request: 1,
    entryId: 'e',
    update: {
      type: 'api_event',
      event: { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', name: 'Write' } },
    },
  }
  const end: RunEvent = {
    type: 'model_end',
    request: 1,
    attempt: 1,
    outcome: 'answered',
    usage: null,
    costUsd: 0,
    durationMs: 1,
  }

  test('is shown as awaited, with the time since its last output', () => {
    let now = 0
    const awaited = followAwaitedReply(() => now)
    const after = (ms: number, ...events: readonly RunEvent[]): string => {
      events.forEach((event) => awaited.onEvent(event))
      now += ms
      return awaited.lines(60, plainStyle).join('|')
    }
    expect(after(1_900, start)).toBe('')
    expect(after(10_100)).toBe('  waiting for m · 0:12')
    expect(after(1_000, thinking)).toBe('  thinking · 0:13')
    expect(after(1_000, textDelta('So'))).toBe('')
    expect(after(4_000)).toBe('  waiting for the rest of the reply · 0:05')
    expect(after(60_000, call)).toBe('  writing a tool call (Write) · 1:05')
    expect(after(60_000, end)).toBe('')
  })
})

describe('a person who is looking elsewhere', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  // The code reads nothing else of the questions.
  const question = { type: 'question', question: { toolName: 'Bash' } } as SessionEvent
  const ended = { type: 'run_end', terminal: { reason: 'completed' } } as SessionEvent

  function startAttention(focus: 'here' | 'away' | 'unknown', setsTitle = true) {
    const calls: string[] = []
    let snapshot: Pick<SessionSnapshot, 'status' | 'questions' | 'limitQuestion'> = {
      status: 'running',
      questions: [],
      limitQuestion: null,
    }
    const attention = createAttention({
      screen: {
        focus,
        notify: (words) => void calls.push(words),
        setTitle: (words) => void calls.push(`title ${words}`),
      },
      channel: () => 'auto',
      setsTitle,
      place: () => 'app',
      snapshot: () => snapshot,
    })
    return {
      calls,
      attention,
      ask: () => {
        snapshot = {
          ...snapshot,
          status: 'requires_action',
          questions: [{}] as unknown as SessionSnapshot['questions'],
        }
        attention.onEvent(question)
      },
      end: () => {
        snapshot = { ...snapshot, status: 'idle', questions: [] }
        attention.onEvent(ended)
      },
    }
  }

  test.each(['away', 'unknown'] as const)(
    'is alerted when a question opens (focus %s), and the title shows it',
    (focus) => {
      const { calls, ask, attention } = startAttention(focus)
      attention.update()
      ask()
      expect(calls).toEqual(['title … halting · app', 'title ? halting · app', 'halting asks: Bash'])
    },
  )

  test('is notified of the end if the terminal reports no focus', () => {
    const [away, unknown] = [startAttention('away', false), startAttention('unknown', false)]
    away.end()
    unknown.end()
    expect([away.calls, unknown.calls]).toEqual([['halting: completed'], []])
  })

  test('is not alerted while looking, unless no key is pressed for half a minute', () => {
    const { calls, ask, attention } = startAttention('here', false)
    ask()
    attention.keyPressed()
    vi.advanceTimersByTime(60_000)
    expect(calls).toEqual([])
    ask()
    vi.advanceTimersByTime(31_000)
    expect(calls).toEqual(['halting asks: Bash'])
  })

  test.each([
    ['auto', '\u0007\u001B]9;asks\u0007'],
    ['terminal_bell', '\u0007'],
    ['iterm2', '\u001B]9;asks\u0007'],
    ['kitty', '\u001B]99;;asks\u001B\\'],
    ['ghostty', '\u001B]777;notify;halting;asks\u0007'],
    ['notifications_disabled', ''],
  ] as const)('is alerted as the setting %s says', async (channel, bytes) => {
    const terminal = virtualTerminal()
    const screen = createScreen(terminal)
    screen.start()
    const before = terminal.written.length
    screen.notify('asks', channel)
    expect(terminal.written.slice(before)).toBe(bytes)
    const stopped = screen.stop()
    await vi.advanceTimersByTimeAsync(1_000)
    await stopped
  })
})
