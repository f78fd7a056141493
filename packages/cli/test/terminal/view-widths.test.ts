// Holds rules of docs/spec: R-TERM-20.
import { type RunEvent, endings, type EndingReason } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnsOf } from '../../src/io/columns.ts'
import type { Block } from '../../src/terminal/screen/screen-port.ts'
import { questionView } from '../../src/terminal/view/question-view.ts'
import { endingShown } from '../../src/terminal/view/ending-block.ts'
import { queueLines, statusBar } from '../../src/terminal/app/layout.ts'
import { stopPanel } from '../../src/terminal/view/stop-panel.ts'
import {
  call,
  coloured,
  lap,
  noFigures,
  noLimits,
  reply,
  retry,
  streamView,
  terminal,
  textDelta,
  user,
} from './view-support.ts'

/** Any text of people, models and tools, and text that nobody should write. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc
    .array(
      fc.constantFrom(
        '\u001B[2J',
        '\u001B]0;x\u0007',
        '\u009B5A',
        '\r',
        '\n',
        '\t',
        '漢字',
        '👩‍💻',
        'e\u0301',
        '\u202E',
        'a'.repeat(50),
        ' ',
        '\u0000',
        '\u2028',
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join('')),
)

/** Lines that are too wide, or contain control sequences other than the program's own colours. */
function lineProblems(blocks: readonly Block[], width: number): readonly string[] {
  return blocks
    .flatMap((block) => block.render(width))
    .filter((line) => {
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      const bare = line.replace('\u001B_pi:c\u0007', '').replaceAll(/\u001B\[(?:0|1|2|31|32|33)m/g, '')
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      const steers = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/
      return steers.test(bare) || columnsOf(bare) > width
    })
}

const width = fc.integer({ min: 12, max: 120 })
const status = fc.constantFrom('done', 'failed', 'invalid', 'denied', 'not_run', 'interrupted', 'unknown')
const tool = fc.constantFrom(
  'Read',
  'Edit',
  'Write',
  'Bash',
  'Grep',
  'Glob',
  'WebFetch',
  'WebSearch',
  'TodoWrite',
  'Agent',
  'AskUserQuestion',
  'mcp__a__b',
  'Skill',
)

const event = fc.oneof(
  anyText.map((words) => [user(words), user(words, 'steer'), user(words, 'hook')]),
  anyText.map((words) => [textDelta(words), reply([{ type: 'text', text: words }])]),
  anyText.map((words) => [
    reply([{ type: 'thinking', thinking: words, signature: '' }]),
    reply([{ type: 'text', text: words }], { error: 'unknown' }),
  ]),
  anyText.map((words): readonly RunEvent[] => [{ type: 'notice', message: words }, retry(words, 1), lap('wrap_up', 0)]),
  fc.record({ tool, status, one: anyText, two: anyText }).map(({ tool: name, status: how, one, two }) =>
    call(
      name,
      { command: one, file_path: one, pattern: one, path: two, url: two, description: one, subagent_type: two },
      {
        status: how,
        content: two,
        details: {
          stdout: two,
          exitCode: how === 'failed' ? 1 : 0,
          type: 'text',
          numLines: 3,
          filePath: one,
          structuredPatch: [{ oldStart: 1, newStart: 1, lines: two.split('\n').map((line) => `+${line}`) }],
          newTodos: [{ content: one, status: 'pending' }],
          answers: { [one]: two },
        },
      },
    ),
  ),
  anyText.map((words): readonly RunEvent[] => [
    { type: 'tool_start', callId: words, name: 'Bash', input: { command: words } },
    { type: 'tool_update', callId: words, name: 'Bash', data: { tail: words } },
    {
      type: 'agent',
      callId: words,
      agentType: words,
      event: { type: 'tool_start', callId: words, name: words, input: { url: words } },
    },
  ]),
)

describe('for any strings, at any width', () => {
  test('no line of the stream is wider than the screen, or controls it', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), width, (events, columns) => {
        const view = streamView(() => 0, coloured)
        const blocks = events.flat().flatMap((each) => view.see({ type: 'loop', event: each }))
        expect(lineProblems([...blocks, view.live], columns)).toEqual([])
      }),
    )
  })

  test('no line of an ending, the panel, the queue or the status bar is', () => {
    const reasons = Object.keys(endings) as EndingReason[]
    fc.assert(
      fc.property(fc.constantFrom(...reasons), anyText, width, fc.nat(1e9), (reason, words, columns, figure) => {
        const todos = [{ content: words, status: 'pending' }] as const
        const input = {
          terminal: terminal(reason, { used: figure, limit: figure }, words),
          changes: '',
          todos,
          limits: noLimits,
        }
        const activity = { type: 'retry', attempt: 1, maxRetries: figure, untilMs: figure, error: words } as const
        const figures = {
          ...noFigures,
          settledUsd: figure,
          settledTokens: figure,
          contextTokens: figure,
          contextWindow: 9,
        }
        const goal = {
          goals: [{ name: words }],
          isChecked: true,
          isChecking: false,
          tries: 3,
          maxTries: 10,
          last: { met: false, checks: [], tampered: [words], changedTests: [], flaky: false },
        }
        const checking = { type: 'goal_check', goals: [words], tries: 3, maxTries: 10, sinceMs: -1_000 } as const
        const snapshot = { status: 'running', activity, figures, limits: noLimits, nextStop: null, goal } as const
        const queue = [{ id: '1', content: words, when: 'next' }] as const
        const bar = { status: 'idle', permissionMode: words, model: words, tasks: [] } as const
        const blocks = [
          endingShown({ ...input, canResume: true }, coloured).block,
          stopPanel(
            () => snapshot,
            coloured,
            () => 0,
          ),
          stopPanel(
            () => ({ ...snapshot, activity: checking }),
            coloured,
            () => 0,
          ),
          queueLines(() => queue, coloured),
          statusBar(() => ({ snapshot: bar, branch: words, keys: [words] }), coloured),
        ]
        expect(lineProblems(blocks, columns)).toEqual([])
      }),
    )
  })

  test('no line of a question is, whatever was typed into it', () => {
    const asked = fc.constantFrom('Bash', 'Edit', 'Write', 'WebFetch', 'AskUserQuestion', 'ExitPlanMode', 'mcp__a__b')
    const key = fc.oneof(fc.constantFrom('e', 'i', '3', '\t', '\u001B', '\u001B[D', '\u007F', ' '), anyText)
    fc.assert(
      fc.property(asked, anyText, anyText, width, fc.array(key, { maxLength: 6 }), (tool, one, two, columns, keys) => {
        const input = {
          command: one,
          description: two,
          file_path: two,
          old_string: one,
          new_string: two,
          content: one,
          url: one,
          questions: [{ question: one, header: two, options: [{ label: one, description: two }, { label: two }] }],
        }
        const suggestions = [
          { type: 'addRules', rules: [{ toolName: one, ruleContent: two }], behavior: 'allow', destination: 'session' },
          { type: 'setMode', mode: one, destination: 'session' },
        ] as const
        const question = { id: 'q', toolName: tool, input, callId: 'c', reason: two, suggestions, agentId: one }
        const view = questionView({
          question,
          waiting: () => [question, { ...question, id: 'r' }],
          answer: () => undefined,
          changed: () => undefined,
          now: () => 0,
          style: coloured,
          cwd: '/work/app',
          rows: () => 24,
          explain: (command) => ({
            parts: [command, two].map((part) => ({ part, behavior: 'ask', because: one }) as const),
          }),
          fileText: () => two,
        })
        expect(lineProblems([view], columns)).toEqual([])
        for (const each of keys) {
          view.handleInput?.(each)
          expect(lineProblems([view], columns)).toEqual([])
        }
      }),
    )
  })
})
