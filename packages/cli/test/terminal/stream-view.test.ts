// Holds rules of docs/spec: R-TERM-20, R-TERM-21, R-TERM-21a, R-TERM-22.
import type { RunEvent } from '@halting/core'
import { describe, expect, test } from 'vitest'
import {
  agentEnd,
  call,
  lap,
  printed,
  reply,
  result,
  retry,
  renderBlocks,
  streamView,
  terminal,
  textDelta,
  user,
} from './view-support.ts'

const patch = {
  filePath: '/work/app/test/run.test.ts',
  linesAdded: 1,
  linesRemoved: 1,
  structuredPatch: [
    {
      oldStart: 10,
      oldLines: 5,
      newStart: 10,
      newLines: 5,
      lines: [' test(() => {', '   start()', '-  await sleep(10)', '+  await until(() => done)', '   stop()', ' })'],
    },
  ],
}

const output = 'one\ntwo\nthree\nfour\nfive\nsix\nall 12 tests of the suite passed, none failed'

const run: readonly RunEvent[] = [
  user('fix the flaky test'),
  textDelta('I look at the '),
  textDelta('test.\n\nIt is '),
  textDelta('short.'),
  reply([{ type: 'text', text: 'I look at the test.\n\nIt is short.' }]),
  ...call(
    'Read',
    { file_path: '/work/app/test/run.test.ts' },
    { details: { type: 'text', numLines: 142, totalLines: 142 } },
  ),
  ...call('Edit', { file_path: '/work/app/test/run.test.ts' }, { details: patch }),
  ...call(
    'Bash',
    { command: 'npm test -- run.test.ts --reporter verbose' },
    { details: { stdout: output, exitCode: 0 }, durationMs: 12_345 },
  ),
]

test('counts changes since the last prompt, also in a replay', () => {
  const view = streamView()
  printed(view, run)
  expect(view.changes).toBe('1 file changed +1 −1')
  printed(view, [user('and now?')])
  expect(view.changes).toBe('')
})

test('prints sources of a reply, and names files that the model made', () => {
  const content = [
    { type: 'text', text: 'It is so.' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(8_192) } },
    { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    {
      type: 'ai_sdk_sources',
      sources: [
        { type: 'url', url: 'https://a.example/', title: 'A page' },
        { type: 'url', url: 'https://b.example/' },
        { type: 'document', title: 'b.pdf', filename: 'b.pdf' },
      ],
    },
  ] as const
  expect(printed(streamView(), [user('is it so?'), textDelta('It is so.'), reply([...content])])).toBe(
    `
> is it so?
It is so.
[An image, image/png, 6 kB: halting sessions export shows it]
[An image: https://a.example/b.png]
Sources:
- A page: https://a.example/
- https://b.example/
- b.pdf
`.trimEnd(),
  )
})

describe('the blocks of a run', () => {
  test('at 80 columns', () => {
    expect(printed(streamView(), run)).toBe(
      `
> fix the flaky test
I look at the test.
It is short.
⏺ Read test/run.test.ts (142 lines)
⏺ Edit test/run.test.ts +1 −1
    10   test(() => {
    11     start()
    12 -   await sleep(10)
    12 +   await until(() => done)
    13     stop()
    14   })
⏺ Bash npm test -- run.test.ts --reporter verbose · 12.3 s
  … 3 lines before
  four
  five
  six
  all 12 tests of the suite passed, none failed`,
    )
  })

  test('at 33 columns: paths and commands wrap, figures stay', () => {
    expect(printed(streamView(), run, 33)).toBe(
      `
> fix the flaky test
I look at the test.
It is short.
⏺ Read test/run.test.ts
       (142 lines)
⏺ Edit test/run.test.ts +1 −1
    10   test(() => {
    11     start()
    12 -   await sleep(10)
    12 +   await until(() =>
         done)
    13     stop()
    14   })
⏺ Bash npm test -- run.test.ts
       --reporter verbose
       · 12.3 s
  … 4 lines before
  five
  six
  all 12 tests of the suite
  passed, none failed`,
    )
  })
})

describe('a call', () => {
  const line = (events: readonly RunEvent[]): string => printed(streamView(), events)

  test('shows what it found', () => {
    expect(
      line([
        ...call(
          'Read',
          { file_path: 'a.ts', offset: 20, limit: 26 },
          { details: { type: 'text', numLines: 26, totalLines: 300 } },
        ),
        ...call(
          'Read',
          { file_path: '/etc/a.pdf' },
          { details: { type: 'pdf', firstPage: 1, lastPage: 10, totalPages: 31 } },
        ),
        ...call(
          'Grep',
          { pattern: 'x+', path: '/work/app/src', glob: '*.ts' },
          { details: { mode: 'content', numLines: 12, numFiles: 3, truncated: true } },
        ),
        ...call('Grep', { pattern: 'x+' }, { details: { mode: 'files_with_matches', numLines: 0, numFiles: 0 } }),
        ...call('Glob', { pattern: '**/*.md' }, { details: { filenames: [], numFiles: 1, truncated: false } }),
        ...call('WebFetch', { url: 'https://example.org/' }, { content: 'x'.repeat(1_234) }),
        ...call(
          'WebSearch',
          { query: 'fake timers', allowed_domains: ['a.example'] },
          { details: { results: [{ title: 'Guide\u001B[2J', url: 'https://a.example/' }] } },
        ),
        ...call('WebSearch', { query: 'nothing' }, { details: { results: [] } }),
        ...call('Bash', { command: 'npm run dev', run_in_background: true }, { details: { backgroundTaskId: 'b1' } }),
        ...call('mcp__tickets__open', { id: 'T-1' }, { content: 'Ticket T-1\nis open' }),
        ...call(
          'Agent',
          { subagent_type: 'explore', description: 'find usages' },
          { content: 'They are in a.ts.', details: { turns: 3, costUsd: 0.02 } },
        ),
        ...call(
          'TodoWrite',
          {},
          {
            details: {
              newTodos: [
                { content: 'one', status: 'completed' },
                { content: 'two', status: 'in_progress' },
                { content: 'three', status: 'pending' },
              ],
            },
          },
        ),
        ...call(
          'TaskCreate',
          { subject: 'four', description: 'More.' },
          {
            details: {
              task: { id: '4', subject: 'four' },
              taskList: [{ id: '4', subject: 'four', status: 'pending' }],
            },
          },
        ),
        ...call(
          'TaskUpdate',
          { taskId: '#4', status: 'completed' },
          {
            details: {
              taskId: '4',
              taskList: [
                { id: '3', subject: 'three', status: 'pending' },
                { id: '4', subject: 'four', status: 'completed' },
              ],
            },
          },
        ),
        ...call('TaskList', {}, { details: { tasks: [{ id: '3', subject: 'three', status: 'in_progress' }] } }),
        ...call('TaskGet', { taskId: '3' }, { content: 'Task #3: three\nStatus: in_progress' }),
        ...call('AskUserQuestion', {}, { details: { answers: { 'Which port?': '8080' } } }),
      ]),
    ).toBe(`⏺ Read a.ts:20-45 (26 of 300 lines)
⏺ Read /etc/a.pdf (pages 1–10 of 31)
⏺ Grep x+ in src *.ts (12 lines in 3 files, truncated)
⏺ Grep x+ (no match)
⏺ Glob **/*.md (1 file)
⏺ WebFetch https://example.org/ (1,234 characters)
⏺ WebSearch fake timers (1 page)
  Guide⟦U+001B⟧[2J: https://a.example/
⏺ WebSearch nothing (no page)
⏺ Bash npm run dev (in the background as b1)
⏺ tickets open {"id":"T-1"} (2 lines)
  Ticket T-1
  is open
⏺ Agent explore: find usages (3 turns, $0.02)
  They are in a.ts.
⏺ Todos
  ✓ one
  ▸ two
  ☐ three
⏺ Todos add four
⏺ Todos #4 completed (1 of 2 done)
  ✓ four
⏺ Todos
  ▸ three
⏺ Todos #3
  Task #3: three
  Status: in_progress
⏺ Question
  Which port?
  → 8080`)
  })

  test('without a result shows why', () => {
    expect(
      line([
        ...call('Bash', { command: 'false' }, { status: 'failed', details: { exitCode: 1, stdout: 'no such file' } }),
        ...call(
          'Bash',
          { command: 'sleep 9' },
          { status: 'failed', details: { exitCode: null, timedOut: true }, content: 'Timed out after 2 min.' },
        ),
        ...call(
          'Bash',
          { command: 'make' },
          {
            status: 'failed',
            details: { exitCode: null, interrupted: true, stdout: 'cc a.c' },
            content: 'cc a.c\nInterrupted.',
          },
        ),
        ...call('Edit', { file_path: 'a.ts' }, { status: 'failed', content: 'The text was not found.' }),
        ...call('Bash', { command: 'rm -rf /' }, { status: 'denied', content: 'Denied by the rule Bash(rm *).' }),
        ...call('Nothing', {}, { status: 'invalid', content: 'There is no tool Nothing.' }),
        ...call('Read', { file_path: 'b.ts' }, { status: 'not_run', content: 'Not run.' }),
        ...call('Bash', { command: 'make' }, { status: 'interrupted', content: 'Interrupted by the user.' }),
      ]),
    ).toBe(`⏺ Bash false (exit code 1)
  no such file
⏺ Bash sleep 9 (failed)
  Timed out after 2 min.
⏺ Bash make (interrupted)
  cc a.c
⏺ Edit a.ts (failed)
  The text was not found.
⏺ Bash rm -rf / (denied)
  Denied by the rule Bash(rm *).
⏺ Nothing (invalid call)
  There is no tool Nothing.
⏺ Read b.ts (not run)
⏺ Bash make (interrupted)
  Interrupted by the user.`)
  })

  test('with a long result is cut, and says by how much', () => {
    const long = Array.from({ length: 100 }, (_each, index) => `+line ${index}`)
    const details = {
      filePath: 'a',
      structuredPatch: [{ oldStart: 0, newStart: 1, lines: long }],
      type: 'create',
      linesAdded: 100,
      linesRemoved: 0,
    }
    const lines = line(call('Write', { file_path: 'a' }, { details })).split('\n')
    expect(lines[0]).toBe('⏺ Write a +100 −0 (new file)')
    expect(lines).toHaveLength(41)
    expect(lines.at(-1)).toBe('    … 61 more lines')
  })

  test('contains no control sequence of a tool', () => {
    const hostile = '\u001B[2Jgone \u001B]0;title\u0007 \u009B31m red\ttab \u202Eturned'
    expect(line(call('Bash', { command: hostile }, { details: { stdout: hostile, exitCode: 0 } }))).toBe(
      '⏺ Bash gone   red    tab turned\n  gone   red    tab turned',
    )
  })
})

describe('other events', () => {
  test('are reported once, as they happen', () => {
    const boundary = {
      type: 'message',
      entry: {
        kind: 'compact_boundary',
        id: 'c1',
        messages: [],
        trigger: 'auto',
        preTokens: 161_000,
        postTokens: 12_300,
      },
    } as const
    const note = {
      type: 'message',
      entry: { kind: 'attachment', id: 'a1', attachment: { type: 'informational', message: 'lint failed' } },
    } as const
    const view = streamView()
    const events: readonly RunEvent[] = [
      { type: 'turn_start', request: 7, turn: 7 },
      user('use port 8080', 'steer'),
      retry('Overloaded', 1),
      retry('Overloaded', 2),
      boundary,
      note,
      lap('max_output_tokens_recovery', 2),
      lap('next_turn', 3),
      { type: 'notice', message: 'The reply may be incomplete.' },
      user('Run the tests.', 'hook'),
      // Context about the folder that the program adds is not shown.
      user('The repository at the start of this run.', 'hook', { hook: 'halting:folder' }),
      // Another source may use the same words.
      user('Said (reported by halting, not by the user): no.', 'hook', { hook: 'Stop' }),
      reply([
        { type: 'thinking', thinking: 'It may be the clock.\n\nOr not.', signature: '' },
        { type: 'text', text: 'Done.' },
      ]),
      reply([{ type: 'text', text: 'The service said no.' }], { error: 'server_error' }),
    ]
    const expected = `
> use port 8080
  delivered at turn 7
! Overloaded (retry 1 of 10 in 8.0 s)
↻ compacted: 161.0k → 12.3k tokens
! lint failed
↻ resuming a truncated reply (2 left)
! The reply may be incomplete.
· hook: Run the tests.
· hook: Said (reported by halting, not by the user): no.
✻ It may be the clock.
  Or not.
Done.`
    // The ending shows what the service sent instead of a reply.
    expect(printed(view, events)).toBe(expected)
    expect(printed(view, [user('again', 'prompt')])).toBe('✗ The service said no.\n\n> again')
    // A resumed session shows it again.
    expect(printed(view, [boundary, note])).toBe('')
  })

  test('report an interrupted reply before it is repeated', () => {
    const view = streamView()
    const again = [textDelta('Hello.'), reply([{ type: 'text', text: 'Hello.' }])]
    expect(printed(view, [textDelta('Hel'), retry('Connection reset', 1), ...again])).toBe(
      'Hel\n  (interrupted here)\n! Connection reset (retry 1 of 10 in 8.0 s)\nHello.',
    )
  })

  test('of a resumed session do not name the turn of a message', () => {
    expect(printed(streamView(), [user('use port 8080', 'steer'), user('and the docs', 'follow_up')])).toBe(
      '\n> use port 8080\n  delivered during a run\n\n> and the docs\n  delivered when the run would have ended',
    )
  })

  test('report why a session failed', () => {
    expect(printed(streamView(), [{ type: 'failed', error: new Error('no disk'), givenBack: [] }])).toBe('✗ no disk')
  })
})

describe('the live part', () => {
  const live = (view: ReturnType<typeof streamView>, width = 60): string => renderBlocks([view.live], width)

  test('shows a running call with its time and last output', () => {
    let now = 0
    const view = streamView(() => now)
    printed(view, [
      { type: 'tool_start', callId: 'a', name: 'Bash', input: { command: 'npm test' } },
      { type: 'tool_update', callId: 'a', name: 'Bash', data: { elapsedSeconds: 5, tail: 'one\ntwo\nthree\nfour\n' } },
      { type: 'tool_start', callId: 'b', name: 'Grep', input: { pattern: 'x' } },
    ])
    now = 65_000
    expect(live(view)).toBe('⏺ Bash npm test 1:05\n  two\n  three\n  four\n⏺ Grep x 1:05')
    printed(view, [
      { type: 'tool_end', callId: 'a', name: 'Bash', status: 'done', durationMs: 1, output: 'ok', isError: false },
      { type: 'tool_end', callId: 'b', name: 'Grep', status: 'done', durationMs: 1, output: 'ok', isError: false },
    ])
    expect(live(view)).toBe('')
  })

  test('counts down a wait (R-WAIT-17)', () => {
    let now = 0
    const view = streamView(() => now)
    const data = { waitsFor: 'bash_1 to write "ready"', sinceMs: 0, untilMs: 600_000, leftMs: 600_000 }
    printed(view, [
      { type: 'tool_start', callId: 'a', name: 'Wait', input: { task_id: 'bash_1', pattern: 'ready' } },
      { type: 'tool_update', callId: 'a', name: 'Wait', data },
    ])
    now = 12_000
    expect(live(view)).toBe('⏺ Wait bash_1 /ready/ 0:12\n  waiting for bash_1 to write "ready", 9:48 left')
  })

  test('shows an agent on one line, with its turn, cost and call', () => {
    const view = streamView()
    const agent = (event: RunEvent): RunEvent => ({
      type: 'agent',
      callId: 'x',
      agentType: 'explore',
      description: 'find usages',
      event,
    })
    printed(view, [
      agent({ type: 'turn_start', request: 3, turn: 3 }),
      agent({
        type: 'model_end',
        request: 3,
        attempt: 1,
        outcome: 'answered',
        usage: null,
        costUsd: 0.0123,
        durationMs: 1,
      }),
      agent({ type: 'tool_start', callId: 'y', name: 'Grep', input: { pattern: 'halt' } }),
      agent(agent({ type: 'turn_start', request: 1, turn: 1 })),
    ])
    expect(live(view, 80)).toBe(
      '  ◦ turn 3 · Grep halt · $0.01 · 0:00 · explore: find usages\n  ◦ turn 1 · thinking · 0:00 · explore: find usages',
    )
    expect(printed(view, [agentEnd])).toBe('⏺ Agent explore ended: max_turns (Reached maximum number of turns (3))')
  })

  test('shows the tail of text and thinking until it is finished', () => {
    const view = streamView()
    expect(printed(view, [textDelta('First.\n\nSecond')])).toBe('First.')
    expect(live(view)).toBe('Second')
    expect(printed(view, [{ type: 'run_end', runId: 'r', terminal: terminal('completed'), result }])).toBe('Second')
    expect(live(view)).toBe('')
  })

  test('completes a partly missed reply without repeating any of it (spec R-CLU-13b)', () => {
    const view = streamView()
    const whole = reply([{ type: 'text', text: 'I look at the test.\n\nIt is short.' }])
    expect(printed(view, [textDelta('I look at the test.\n\nIt'), whole])).toBe('I look at the test.\nIt is short.')
  })

  test('keeps a reply that another worker repeats, as a separate one (spec R-CLU-13a)', () => {
    const view = streamView()
    const begins: RunEvent = { type: 'model_start', request: 1, attempt: 1, model: 'scripted' }
    expect(
      printed(view, [
        begins,
        textDelta('I look'),
        begins,
        textDelta('It is'),
        textDelta(' short.'),
        reply([{ type: 'text', text: 'It is short.' }]),
      ]),
    ).toBe('I look\n  (interrupted here)\nIt is short.')
  })

  test('removes a call that has a result without an end (spec R-CLU-13)', () => {
    const view = streamView()
    const callEvents = call('Bash', { command: 'ls' }, { details: { stdout: 'a', exitCode: 0 } })
    const callId = callEvents.flatMap((event) => (event.type === 'tool_start' ? [event.callId] : [])).join('')
    const agent: RunEvent = { type: 'turn_start', request: 1, turn: 1 }
    printed(view, [...callEvents.slice(0, 2), { type: 'agent', callId, agentType: 'explore', event: agent }])
    expect(live(view)).toContain('Bash ls')
    expect(live(view)).toContain('explore')
    printed(view, callEvents.slice(3))
    expect(live(view)).toBe('')
  })
})
