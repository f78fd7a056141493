// What the stream shows of real runs, with the tools of the coding agent (docs/spec: R-TERM-20 to R-TERM-26).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCodingTools, Workspace } from '@halting/agent'
import { createPermissions } from '@halting/policy'
import { createSession, type Session } from '@halting/core/session'
import { agentTool, allowAll, type QueryOptions } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { endingShown } from '../../src/terminal/view/ending-block.ts'
import { questionView } from '../../src/terminal/view/question-view.ts'
import { stopPanel } from '../../src/terminal/view/stop-panel.ts'
import { plainStyle, renderBlocks, streamView } from './view-support.ts'

interface ShownRun {
  readonly session: Session
  /** Everything that was printed, without times. */
  readonly printed: () => string
}

function open(
  replies: readonly ScriptedReply[],
  { tools = [], ...options }: Partial<QueryOptions> = {},
  answersQuestions = false,
): ShownRun {
  const cwd = mkdtempSync(join(tmpdir(), 'halting-view-'))
  const workspace = new Workspace({ cwd })
  onTestFinished(async () => {
    await workspace.dispose()
    rmSync(cwd, { recursive: true })
  })
  writeFileSync(join(cwd, 'a.ts'), 'one\ntwo\nthree\n')
  const session = createSession({
    options: {
      model: scriptedModel(replies),
      tools: [...createCodingTools(workspace), ...tools],
      permissions: answersQuestions ? createPermissions({ cwd }) : allowAll,
      ...options,
    },
    journal: undefined,
    answersQuestions,
    permissions: { mode: 'default' },
    cwd,
    end: async () => undefined,
  })
  onTestFinished(() => session.close())
  const view = streamView()
  const lines: string[] = []
  session.listen((event) => {
    lines.push(...view.see(event).map((block) => renderBlocks([block])))
    if (event.type !== 'run_end') return
    const { limits, canResume } = session.snapshot
    const input = { terminal: event.terminal, limits, canResume, changes: view.changes, todos: view.todos }
    lines.push(renderBlocks([endingShown(input, plainStyle).block]))
    expect(renderBlocks([view.live])).toBe('')
  })
  const printed = (): string =>
    lines
      .join('\n')
      .replaceAll(cwd, '/work')
      .replaceAll(/\d:\d\d(?= ·|\n|$|,|\.)/g, 'M:SS')
  return { session, printed }
}

const calls = (...toolCalls: readonly { name: string; input: object }[]): ScriptedReply => ({ toolCalls })

test('a run that reads, changes and checks', async () => {
  const { session, printed } = open([
    {
      text: 'I look.',
      toolCalls: [
        { name: 'Read', input: { file_path: 'a.ts' } },
        { name: 'Glob', input: { pattern: '*.ts' } },
      ],
    },
    calls({ name: 'Edit', input: { file_path: 'a.ts', old_string: 'two', new_string: '2' } }),
    calls({ name: 'Bash', input: { command: 'cat a.ts; exit 3' } }, { name: 'Read', input: { file_path: 'b.ts' } }),
    calls({
      name: 'TodoWrite',
      input: {
        todos: [
          { content: 'change a.ts', status: 'completed' },
          { content: 'tell it', status: 'pending' },
        ],
      },
    }),
    { text: 'Done.' },
  ])
  session.prompt('change two to 2')
  await session.settled()
  expect(printed()).toBe(`
> change two to 2
I look.
⏺ Read a.ts (3 lines)
⏺ Glob *.ts (1 file)
⏺ Edit a.ts +1 −1
    1   one
    2 - two
    2 + 2
    3   three
⏺ Bash cat a.ts; exit 3 (exit code 3)
  one
  2
  three
⏺ Read b.ts (failed)
  /work/b.ts does not exist. To search for it, use Glob with
  {"pattern": "**/b.ts"}. The working directory is /work.
⏺ Todos
  ✓ change a.ts
  ☐ tell it
Done.
✓ done · 5 turns · M:SS · 1 file changed +1 −1
  Not done: "tell it".`)
})

test('reports a limit, and the run continues with its counters', async () => {
  const look = calls({ name: 'Glob', input: { pattern: '*' } })
  const { session, printed } = open([look, look, { text: 'Two files.' }], { maxTurns: 1 })
  session.prompt('go')
  await session.settled()
  expect(
    renderBlocks([
      stopPanel(
        () => session.snapshot,
        plainStyle,
        () => 0,
      ),
    ]),
  ).toMatch(/^ turn 1\/1 · .* · next stop: in 0 turns$/)
  session.resume({ maxTurns: 21 })
  await session.settled()
  expect(printed()).toBe(`
> go
⏺ Glob * (1 file)
■ Stopped: the turn limit is reached. 1 of 1 turn.  [max_turns]
  1 turn, 15 tokens, M:SS.
  ↵ +20 turns and continue   w↵ final answer   y↵ /why   or type a prompt
↻ continuing run1, with its counters
⏺ Glob * (1 file)
Two files.
✓ done · 3 turns · M:SS`)
})

test('a person steers and interrupts', async () => {
  const { session, printed } = open([calls({ name: 'Glob', input: { pattern: '*' } }), { hang: true, text: 'I th' }])
  session.listen((event) => {
    if (event.type !== 'loop') return
    if (event.event.type === 'tool_start') session.prompt('use port 8080')
    if (event.event.type === 'model_start' && event.event.request === 2) setImmediate(() => session.interrupt())
  })
  session.prompt('go')
  await session.settled()
  expect(printed()).toMatch(
    /^\n> go\n⏺ Glob \* \(1 file\)\n\n> use port 8080\n {2}delivered at turn 2\n(?:I th\n)? {2}\(cut off here\)\n■ Stopped: interrupted while the model was replying\. {2}\[aborted_streaming\]\n/,
  )
})

test('a call asks, and a subagent works', async () => {
  const helper = agentTool({
    name: 'Agent',
    description: '',
    readOnly: true,
    inputSchema: { type: 'object' },
    spawn: () => ({ prompt: 'look', agentType: 'explore' }),
  })
  const { session, printed } = open(
    [
      calls({ name: 'Agent', input: { subagent_type: 'explore', description: 'find usages' } }),
      { text: 'They are in a.ts.' },
      calls({ name: 'Bash', input: { command: 'touch x && rm x' } }),
      { text: 'Then not.' },
    ],
    { tools: [helper] },
    true,
  )
  const asked: string[] = []
  session.listen((event) => {
    if (event.type !== 'question') return
    const { questions: waiting, cwd } = session.snapshot
    const view = questionView({
      question: event.question,
      waiting: () => waiting,
      answer: (id, answer) => session.answer(id, answer),
      changed: () => undefined,
      now: () => 0,
      style: plainStyle,
      cwd,
      rows: () => 24,
    })
    asked.push(renderBlocks([view]))
    view.handleInput?.('\r')
    view.handleInput?.('n')
  })
  session.prompt('go')
  await session.settled()
  expect(asked.map((text) => text.split('\n').slice(1, 3))).toEqual([['? Run this command?', '  $ touch x && rm x']])
  expect(printed()).toBe(`
> go
⏺ Agent explore: find usages (1 turn)
  They are in a.ts.
⏺ Bash touch x && rm x (denied)
  The user denied this call.
Then not.
✓ done · 3 turns · M:SS`)
})
