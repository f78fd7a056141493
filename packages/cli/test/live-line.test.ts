// Holds rules of docs/spec: R-TEXT-2, R-TEXT-2a.
import type { RunEvent } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { describe, expect, test, vi } from 'vitest'
import { followActivity, showActivity } from '../src/headless/activity.ts'
import { columnsOf, truncateToColumns, wrapToColumns } from '../src/io/columns.ts'
import { createOutput } from '../src/io/output.ts'

interface Terminal {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** All output, with erasing as `⌫` and a line up as `↑`. */
  readonly written: () => string
}

function terminal({ stdoutIsTerminal = true, stderrIsTerminal = true, columns = 40 } = {}): Terminal & {
  resize: (columns: number) => void
} {
  let written = ''
  const size = { columns }
  const stream = (isTTY: boolean): NodeJS.WriteStream =>
    // True: the output uses nothing else of a stream.
    ({
      isTTY,
      get columns() {
        return isTTY ? size.columns : undefined
      },
      on: () => undefined,
      write: (text: string) => (written += text) !== '',
    }) as unknown as NodeJS.WriteStream
  return {
    stdout: stream(stdoutIsTerminal),
    stderr: stream(stderrIsTerminal),
    written: () => written.replaceAll('\r\u001B[2K', '⌫').replaceAll('\u001B[1A\u001B[2K', '↑'),
    resize: (next) => (size.columns = next),
  }
}

describe('the live line', () => {
  test('disappears before other output, and returns after it', () => {
    const { stdout, stderr, written } = terminal()
    const output = createOutput(stdout, stderr)
    output.showLive('one')
    output.showLive('one')
    output.showLive('two')
    output.out('answer\n')
    output.showLive('three')
    output.err('a warning\n')
    expect(written()).toBe('one⌫two⌫answer\nthree⌫a warning\n')
  })

  test('never follows an unfinished line, and stderr output begins a new line', () => {
    const { stdout, stderr, written } = terminal()
    const output = createOutput(stdout, stderr)
    output.out('half of the')
    output.showLive('live')
    output.err('a warning\n')
    output.endLine()
    expect(written()).toBe('half of the\na warning\n')
  })

  test('is erased completely, even after the terminal became narrower', () => {
    const { stdout, stderr, written, resize } = terminal({ columns: 40 })
    const output = createOutput(stdout, stderr)
    output.showLive('x'.repeat(39))
    resize(20)
    output.err('text\n')
    expect(written()).toBe(`${'x'.repeat(39)}⌫↑text\n`)
  })

  test('is shown only on a terminal', () => {
    const piped = terminal({ stderrIsTerminal: false })
    createOutput(piped.stdout, piped.stderr).showLive('live')
    expect(piped.written()).toBe('')
    const filed = terminal({ stdoutIsTerminal: false })
    const output = createOutput(filed.stdout, filed.stderr)
    output.showLive('live')
    output.out('into the file')
    output.showLive('on')
    expect(filed.written()).toBe('liveinto the file⌫on')
  })

  test('is redrawn at most ten times a second', () => {
    vi.useFakeTimers()
    try {
      const { stdout, stderr, written } = terminal()
      let drawn = 0
      const stop = showActivity(
        { onEvent: () => undefined, line: () => String(++drawn), paceMs: () => 100 },
        createOutput(stdout, stderr),
      )
      vi.advanceTimersByTime(2_000)
      expect(drawn).toBe(20)
      stop()
      vi.advanceTimersByTime(2_000)
      expect([drawn, written().endsWith('20⌫')]).toEqual([20, true])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the progress text', () => {
  const error = { kind: 'rate_limit', message: 'Slow down', status: 429, retryable: true } as const
  const retry = {
    type: 'retry',
    request: 1,
    attempt: 2,
    maxRetries: 10,
    delayMs: 8_000,
    error: { ...error, retryAfterMs: null, requestId: null, usage: null, billed: 'nothing' },
  } satisfies RunEvent
  const figures = {
    type: 'figures',
    settledUsd: 0.1234,
    unknownUsd: 0,
    reservedUsd: 0,
    leftUsd: null,
    settledTokens: 34_567,
    reservedTokens: 0,
    waitingRequests: 0,
    leftTokens: null,
    contextTokens: 0,
    contextWindow: null,
    usedMs: 0,
    leftMs: null,
  } satisfies RunEvent
  const bash = (callId: string, command: string): RunEvent => ({
    type: 'tool_start',
    callId,
    name: 'Bash',
    input: { command },
  })

  function after(events: readonly RunEvent[], ms: number): (columns: number) => string {
    let now = 0
    const activity = followActivity(() => now)
    activity.onEvent({ type: 'turn_start', request: 1, turn: 3 })
    for (const event of events) activity.onEvent(event)
    now += ms
    return (columns) => activity.line(columns)
  }

  test('shows turn, tool, time, tokens and dollars', () => {
    const line = after([figures, bash('1', 'npm test')], 12_000)
    expect(line(79)).toBe('turn 3 · Bash npm test (12 s) · 0:12 · 34.6k tokens · $0.1234')
    expect(line(39)).toBe('Bash npm test (12 s) · 0:12 · $0.1234')
  })

  test('shows the latest dollars, tokens and reservations, including nested agents', () => {
    const ofAgent = (event: RunEvent): RunEvent => ({ type: 'agent', callId: 'a', agentType: 'Agent', event })
    const later = {
      ...figures,
      settledUsd: 0.0028,
      settledTokens: 900,
      reservedUsd: 0.05,
      contextWindow: 10,
      contextTokens: 9,
    }
    const line = after([{ ...figures, settledUsd: 0.0004 }, ofAgent(ofAgent(later))], 0)
    expect(line(120)).toContain('900 tokens · $0.0028 (+$0.0500 reserved)')
    expect(line(120)).not.toContain('ctx')
  })

  test('says that the run waits for a budget', () => {
    const wait = { neededUsd: 1, neededTokens: 1, reservedUsd: 1, reservedTokens: 1, holders: 1 }
    const line = after([{ type: 'budget_wait', isWaiting: true, ...wait }], 0)
    expect(line(120)).toContain('waiting for $1.00 reserved by 1 request')
    const ofBudget = after([{ type: 'budget_wait', isWaiting: true, ...wait, holders: 3, budget: '$20 a day' }], 0)
    expect(ofBudget(120)).toContain('waiting for $1.00 of $20 a day reserved by 3 requests')
  })

  const full = (contextTokens: number): RunEvent => ({ ...figures, contextTokens, contextWindow: 100_000 })
  const begins: RunEvent = { type: 'compact_start', trigger: 'auto', tokens: 81_300 }

  test('shows how full the window is if it fits, and compaction', () => {
    const calm = after([full(81_300)], 0)
    expect(calm(79)).toBe('turn 3 · starting · 0:00 · ctx 81 % · 34.6k tokens · $0.1234')
    expect(calm(39)).toBe('turn 3 · starting · 0:00 · $0.1234')
    const compacting = after([full(1_500), begins], 4_000)
    expect(compacting(79)).toBe('turn 3 · compacting 81.3k tokens (4 s) · 0:04 · 34.6k tokens · $0.1234')
    expect(compacting(60)).toBe('turn 3 · compacting 81.3k tokens (4 s) · 0:04 · $0.1234')
    const boundary = { kind: 'compact_boundary', id: 'b', messages: [], trigger: 'auto' } as const
    const entry = { ...boundary, preTokens: 81_300, postTokens: 12_000 }
    const ended: readonly RunEvent[] = [
      { type: 'compact_end', trigger: 'auto', compacted: true, message: '' },
      { type: 'message', entry },
    ]
    expect(after([full(1_500), begins, ...ended], 0)(79)).toBe(
      'turn 3 · working · 0:00 · ctx 12 % · 34.6k tokens · $0.1234',
    )
    const inner: RunEvent = { type: 'agent', callId: '1', agentType: 'x', event: full(90_000) }
    expect(after([full(20_000), inner], 0)(79)).toContain(' · ctx 20 % · ')
    expect(after([full(400)], 0)(79)).not.toContain('ctx')
  })

  test('shows what is retried and when', () => {
    expect(after([retry], 0)(79)).toBe('turn 3 · retry 2/10 in 8 s: 429 rate limit · 0:00')
    expect(after([retry], 5_500)(79)).toBe('turn 3 · retry 2/10 in 3 s: 429 rate limit · 0:05')
    expect(after([retry], 9_000)(79)).toBe('turn 3 · retry 2/10 now: 429 rate limit · 0:09')
  })

  test('shows what the model writes, including a long input of a call', () => {
    const update = (given: ModelUpdate): RunEvent => ({
      type: 'model_update',
      request: 1,
      entryId: 'e',
      update: given,
    })
    const content_block = { type: 'tool_use', name: 'Write' }
    const call = update({ type: 'api_event', event: { type: 'content_block_start', index: 1, content_block } })
    const asked: RunEvent = { type: 'model_start', request: 1, attempt: 1, model: 'opus' }
    expect(after([asked], 5_000)(79)).toBe('turn 3 · waiting for opus (5 s) · 0:05')
    expect(after([asked, update({ type: 'thinking_delta', index: 0, text: 'hm' })], 0)(79)).toBe(
      'turn 3 · thinking · 0:00',
    )
    expect(after([asked, call], 9_000)(79)).toBe('turn 3 · writing a tool call (Write) (9 s) · 0:09')
  })

  test("shows the newest of several tools, including a subagent's", () => {
    const inner: RunEvent = { type: 'agent', callId: '1', agentType: 'x', event: bash('2', 'make') }
    const ended: RunEvent = {
      type: 'tool_end',
      callId: '2',
      name: 'Bash',
      status: 'done',
      durationMs: 1,
      output: 'ok',
      isError: false,
    }
    expect(after([bash('1', 'npm test'), inner], 0)(79)).toBe('turn 3 · Bash make (and 1 more) · 0:00')
    expect(after([bash('1', 'npm test'), bash('2', 'make'), ended], 0)(79)).toBe('turn 3 · Bash npm test · 0:00')
  })

  test.each([79, 39, 20, 12, 3, 1])('fits %i columns with any content', (columns) => {
    for (const command of [
      '漢字'.repeat(40),
      'a\u0301'.repeat(80),
      '👩‍💻'.repeat(30),
      'x\n\u001B[31m\ty'.repeat(20),
      '',
    ]) {
      const line = after([figures, bash('1', command)], 3_725_000)(columns)
      expect(columnsOf(line)).toBeLessThanOrEqual(columns)
      expect(line).not.toMatch(/\p{Cc}/u)
    }
  })
})

test.each([
  ['plain', 5],
  ['漢字', 4],
  ['ｆｕｌｌ', 8],
  ['한국어', 6],
  ['e\u0301', 1],
  ['👍', 2],
  ['\u00AD\u0600', 2],
  ['\u200B\u2060\uFEFF', 0],
  ['−…✓●', 4],
])('%s takes %i columns', (text, columns) => {
  expect(columnsOf(text)).toBe(columns)
})

test('truncates a text between characters, and wraps it between words', () => {
  expect(truncateToColumns('漢字漢字', 6)).toBe('漢字…')
  expect(truncateToColumns('short', 5)).toBe('short')
  expect(wrapToColumns('one two three\nfour', 8)).toBe('one two\nthree\nfour')
})
