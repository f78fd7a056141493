// Holds rules of docs/spec: R-LIM-41, R-LIM-42 and R-LIM-44: when the command of a status line runs, its input, and how its output is shown.
import * as fc from 'fast-check'
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { SessionSnapshot } from '@halting/core/session'
import { withoutTimes, statusLineInput, type StatusLineState } from '../../src/terminal/status-line/input.ts'
import { createPace, createStatusLine } from '../../src/terminal/status-line/status-line.ts'

afterEach(() => void vi.useRealTimers())

describe('when it runs', () => {
  const asks = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 25 })
  const durations = fc.array(fc.integer({ min: 0, max: 1_200 }), { minLength: 1, maxLength: 10 })

  test('runs one at a time, 300 ms from start to start, with the last request done (R-LIM-42)', async () => {
    await fc.assert(
      fc.asyncProperty(asks, durations, async (gaps, lengths) => {
        vi.useFakeTimers()
        const starts: number[] = []
        let [running, most, asked] = [0, 0, 0]
        const pace = createPace({
          everyMs: 300,
          async work() {
            starts.push(performance.now())
            most = Math.max(most, ++running)
            await new Promise((resolve) => setTimeout(resolve, lengths[starts.length % lengths.length]))
            running--
          },
        })
        for (const gap of gaps) {
          await vi.advanceTimersByTimeAsync(gap)
          asked = performance.now()
          pace.ask()
        }
        await vi.advanceTimersByTimeAsync(5_000)
        expect(most).toBe(1)
        const between = starts.slice(1).map((start, at) => start - starts[at]!)
        expect(between.filter((ms) => ms < 300)).toEqual([])
        expect(starts.at(-1)).toBeGreaterThanOrEqual(asked)
        expect(starts.length).toBeLessThanOrEqual(gaps.length)
        pace.stop()
        pace.ask()
        await vi.advanceTimersByTimeAsync(5_000)
        expect(running).toBe(0)
        vi.useRealTimers()
      }),
    )
  })

  test('starts nothing after the end, and continues after a failure', async () => {
    vi.useFakeTimers()
    let runs = 0
    const pace = createPace({ everyMs: 300, work: () => (++runs, Promise.reject(new Error('no'))) })
    pace.ask()
    await vi.advanceTimersByTimeAsync(1)
    pace.ask()
    await vi.advanceTimersByTimeAsync(400)
    expect(runs).toBe(2)
    pace.ask()
    pace.stop()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(runs).toBe(2)
  })
})

const snapshot: SessionSnapshot = {
  status: 'idle',
  activity: { type: 'idle' },
  queue: [],
  questions: [],
  limitQuestion: null,
  model: 'claude-sonnet-4-5-20250929',
  models: [],
  permissionMode: 'plan',
  permissionModes: [],
  thinking: { type: 'adaptive' },
  limits: {
    maxTurns: 10,
    maxBudgetUsd: 1,
    maxTotalTokens: null,
    maxDurationMs: 60_000,
    maxRunUsd: null,
    maxToolCalls: 20,
  },
  figures: {
    turns: 3,
    toolCalls: 4,
    settledUsd: 0.25,
    unknownUsd: 0.05,
    reservedUsd: 0,
    leftUsd: 0.5,
    sessionUsd: 0.5,
    settledTokens: 4_000,
    reservedTokens: 0,
    leftTokens: null,
    waitingRequests: 0,
    contextTokens: 0,
    contextWindow: 200_000,
    compactsAt: null,
    usedMs: 7_000,
    leftMs: 53_000,
  },
  nextStop: { reason: 'max_turns', turns: 7, isEstimate: false },
  goal: null,
  tasks: [],
  serviceWaits: [],
  last: undefined,
  canResume: false,
  cwd: '/work',
  file: '/sessions/s1.jsonl',
}
const state: StatusLineState = {
  sessionId: 's1',
  snapshot,
  followed: {
    usage: {
      input_tokens: 1_000,
      output_tokens: 500,
      cache_creation_input_tokens: 20_000,
      cache_read_input_tokens: 29_000,
    },
    apiMs: 1_500.4,
    linesAdded: 12,
    linesRemoved: 3,
  },
  projectDirectory: '/work/project',
  additionalDirectories: ['/more'],
  effort: 'high',
  version: '1.2.3',
  openForMs: 9_000.7,
}

describe('what it reads (R-LIM-41)', () => {
  test('the fields of Claude Code, and ours', () => {
    expect(statusLineInput(state)).toEqual({
      hook_event_name: 'Status',
      session_id: 's1',
      transcript_path: '/sessions/s1.jsonl',
      cwd: '/work',
      permission_mode: 'plan',
      model: { id: 'claude-sonnet-4-5-20250929', display_name: 'Sonnet 4.5' },
      workspace: { current_dir: '/work', project_dir: '/work/project', added_dirs: ['/more'] },
      version: '1.2.3',
      output_style: { name: 'default' },
      cost: {
        total_cost_usd: 0.5,
        total_duration_ms: 9_001,
        total_api_duration_ms: 1_500,
        total_lines_added: 12,
        total_lines_removed: 3,
      },
      context_window: {
        total_input_tokens: 50_000,
        total_output_tokens: 500,
        context_window_size: 200_000,
        current_usage: {
          input_tokens: 1_000,
          output_tokens: 500,
          cache_creation_input_tokens: 20_000,
          cache_read_input_tokens: 29_000,
        },
        used_percentage: 25,
        remaining_percentage: 75,
      },
      exceeds_200k_tokens: false,
      effort: { level: 'high' },
      thinking: { enabled: true },
      figures: {
        turns: 3,
        toolCalls: 4,
        tokens: 4_000,
        usd: 0.25,
        elapsedMs: 7_000,
        left: { turns: 7, toolCalls: 16, usd: 0.5, ms: 53_000 },
      },
      limits: {
        maxTurns: 10,
        maxBudgetUsd: 1,
        maxTotalTokens: null,
        maxDurationMs: 60_000,
        maxRunUsd: null,
        maxToolCalls: 20,
      },
      stop: { reason: 'max_turns', turns: 7, isEstimate: false },
    })
  })

  test('invents nothing before the first reply', () => {
    const input = statusLineInput({
      ...state,
      snapshot: {
        ...snapshot,
        file: undefined,
        thinking: null,
        nextStop: null,
        figures: { ...snapshot.figures, contextWindow: null },
      },
      followed: { ...state.followed, usage: null },
      effort: undefined,
    })
    expect(input).toMatchObject({
      transcript_path: '',
      context_window: {
        total_input_tokens: 0,
        context_window_size: null,
        current_usage: null,
        used_percentage: null,
        remaining_percentage: null,
      },
      exceeds_200k_tokens: false,
      thinking: { enabled: false },
      stop: null,
    })
    expect(input).not.toHaveProperty('effort')
  })

  test.each([
    ['claude-opus-4-1', 'Opus 4.1'],
    ['anthropic/claude-haiku-4-5', 'Haiku 4.5'],
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'Sonnet 4.5'],
    ['claude-opus-5', 'Opus 5'],
    ['claude-sonnet-5[1m]', 'Sonnet 5 (1M context)'],
    ['openai/gpt-6', 'openai/gpt-6'],
    ['claude-3-5-sonnet', 'claude-3-5-sonnet'],
  ])('shows the model %s as %s', (model, name) => {
    expect(statusLineInput({ ...state, snapshot: { ...snapshot, model } })['model']).toEqual({
      id: model,
      display_name: name,
    })
  })

  test('ignores passing time, and nothing else', () => {
    const before = withoutTimes(statusLineInput(state))
    const later = {
      ...state,
      openForMs: 99_000,
      snapshot: { ...snapshot, figures: { ...snapshot.figures, usedMs: 8_000, leftMs: 52_000 } },
    }
    expect(withoutTimes(statusLineInput(later))).toBe(before)
    const other = { ...state, snapshot: { ...snapshot, permissionMode: 'default' } }
    expect(withoutTimes(statusLineInput(other))).not.toBe(before)
  })
})

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controls = /[\u0000-\u001F\u007F-\u009F\u202A-\u202E]/
// oxlint-disable-next-line no-control-regex -- sequences of colours may stay
const colours = /\u001B\[[\d;:]*m/g

/** A status line whose command printed this. */
async function renderStatusLine(text: string, { rows = 24, padding = 0 } = {}) {
  vi.useFakeTimers()
  const line = createStatusLine({
    command: { run: async () => ({ kind: 'printed', text }), end: async () => undefined },
    padding,
    input: () => ({}),
    size: () => ({ columns: 80, rows }),
    changed: () => undefined,
    note: () => undefined,
  })
  await vi.advanceTimersByTimeAsync(10)
  await line.close()
  vi.useRealTimers()
  return line
}

describe('what it shows (R-LIM-44)', () => {
  test('at most three lines, cut to the width, with colours as the only sequences', async () => {
    const line = await renderStatusLine(
      '\u001B[31mred\u001B[0m \u001B]0;title\u0007\u001B[2J\u001B[5mblink\u001B]8;;http://x\u001B\\link\u001B]8;;\u001B\\\n\n \u001B[0m \n\u0007two \u202Eturned\nthree\nfour\n',
    )
    expect(line.render(80)).toEqual([' \u001B[31mred\u001B[0m blinklink\u001B[0m', ' two turned', ' three'])
    expect(line.render(6)).toEqual([
      ' \u001B[31mred\u001B[0m \u001B[0m…\u001B[0m',
      ' two \u001B[0m…\u001B[0m',
      ' three',
    ])
  })

  test('padding precedes it; a terminal of few rows shows one line', async () => {
    const line = await renderStatusLine('one\ntwo', { padding: 3, rows: 10 })
    expect(line.render(80)).toEqual(['    one'])
  })

  test('no text is wider than the terminal, or controls it', async () => {
    const pieces = fc.oneof(
      fc.constantFrom(
        '\u001B[31m',
        '\u001B[0m',
        '\u001B[2J',
        '\u001B]0;x\u0007',
        '\u009B1A',
        '漢',
        '👩‍💻',
        '\t',
        '\r',
        '\n',
        'a ',
      ),
      fc.string({ unit: 'binary', maxLength: 5 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 30 }), fc.integer({ min: 1, max: 90 }), async (texts, width) => {
        const lines = (await renderStatusLine(texts.join(''))).render(width)
        expect(lines.length).toBeLessThanOrEqual(3)
        for (const text of lines) {
          expect(text.replaceAll(colours, '')).not.toMatch(controls)
          expect(visibleWidth(text)).toBeLessThanOrEqual(width)
        }
      }),
    )
  })
})
