// Holds rules of docs/spec: R-FOR-1 to R-FOR-6, for Codex.
import { accountOf } from '../../src/account/account.ts'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { transcriptProblems } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'
import { sendableRuns } from '../../src/foreign/take-over.ts'
import { fileOf, linesOf, prices, useFolder } from './support.ts'

useFolder()

const record = (type: string, payload: object): object => ({ timestamp: '2026-01-01T00:00:00.000Z', type, payload })
const event = (type: string, payload: object = {}): object => record('event_msg', { type, ...payload })
const item = (type: string, payload: object): object => record('response_item', { type, ...payload })
const message = (role: string, text: string): object =>
  item('message', { role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] })
const calls = (id: string, name = 'shell', args: unknown = '{"command":["ls"]}'): object =>
  item('function_call', { name, arguments: args, call_id: id })
const output = (id: string, text: unknown): object => item('function_call_output', { call_id: id, output: text })
const tokens = (input: number, cached: number, out: number, total: number): object =>
  event('token_count', {
    info: {
      last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: out },
      total_token_usage: { total_tokens: total },
    },
  })
const meta = record('session_meta', { id: 'c0000000-0000-4000-8000-000000000000', cwd: '/home/user/project' })
const model = record('turn_context', { model: 'claude-sonnet-4-5' })

async function messagesOf(path: string): Promise<readonly unknown[]> {
  const runs = sendableRuns(await readForeignSession(path, 'newest_branch'))
  const messages = foldSession(runs.map((run) => recordsOfForeign(run, prices).records)).transcript.messages()
  expect(transcriptProblems(messages)).toEqual([])
  return messages.map(({ content }) => content)
}

test('tasks are runs, items before the figures are one request, and repeated figures count once', async () => {
  const path = fileOf(
    linesOf([
      meta,
      event('task_started'),
      message('user', '<environment_context>x</environment_context>'),
      model,
      message('user', 'one'),
      item('reasoning', { summary: [] }),
      calls('a'),
      calls('b'),
      tokens(100, 60, 10, 110),
      tokens(100, 60, 10, 110),
      output('a', '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0}}'),
      output('b', 'Wall time: 1 s\nProcess exited with code 0\nOutput:\nok'),
      message('user', 'and faster'),
      message('assistant', 'done'),
      tokens(200, 100, 20, 330),
      event('task_complete'),
      event('task_started'),
      message('user', 'two'),
      item('custom_tool_call', { name: 'apply_patch', input: '*** Begin', call_id: 'c' }),
      event('turn_aborted', { reason: 'interrupted' }),
      event('task_started'),
      message('user', 'three'),
      event('error', { message: 'stream disconnected' }),
      event('never_seen'),
      record('new_kind', {}),
    ]),
  )
  const { runs, skipped, cwd, sessionId } = await readForeignSession(path)
  expect({ cwd, sessionId }).toEqual({ cwd: '/home/user/project', sessionId: 'c0000000-0000-4000-8000-000000000000' })
  expect(skipped).toMatchObject({ unknown: 2, kinds: ['event_msg/never_seen', 'new_kind'], withoutFigures: 1 })
  expect(runs.map(({ turns, ending }) => [turns.length, ending?.reason, ending?.message])).toEqual([
    [2, 'completed', 'the task was complete, according to Codex'],
    [1, 'aborted_tools', 'interrupted by the person, according to Codex'],
    [0, 'model_error', 'refused by the API: stream disconnected'],
  ])
  const [first] = runs
  if (first === undefined) throw new Error('no run')
  expect(first.turns[0]?.results.map(({ callId, isError }) => [callId, isError])).toEqual([
    ['a', true],
    ['b', false],
  ])
  expect(first.turns[0]?.laterMessages).toEqual([{ origin: 'steer', content: [{ type: 'text', text: 'and faster' }] }])
  expect(accountOf(recordsOfForeign(first, prices).records).totals).toMatchObject({ turns: 2, tokens: 330 })
  expect(first.turns[0]?.message.usage).toMatchObject({ input_tokens: 40, cache_read_input_tokens: 60 })
  expect(await messagesOf(path)).toHaveLength(10)
})

test('compacted or rolled-back messages are not sent again', async () => {
  const history = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'kept' }] }]
  const path = fileOf(
    linesOf([
      meta,
      model,
      event('task_started'),
      message('user', 'old'),
      message('assistant', 'x'),
      record('compacted', { message: 'summary', replacement_history: history }),
      event('task_started'),
      message('user', 'new'),
      message('assistant', 'y'),
      event('task_started'),
      message('user', 'wrong'),
      message('assistant', 'z'),
      event('thread_rolled_back', { num_turns: 1 }),
      event('task_started'),
      message('user', 'right'),
      message('assistant', 'q'),
    ]),
  )
  expect((await readForeignSession(path)).runs).toHaveLength(4)
  const shown = (await messagesOf(path)).flatMap((content) =>
    typeof content === 'string' ? [content] : (content as readonly { readonly text: string }[]).map(({ text }) => text),
  )
  expect(shown).toEqual(['summary', 'kept', 'new', 'y', 'right', 'q'])
})

test('items of the first versions without an envelope are read', async () => {
  const path = fileOf(
    linesOf([
      { id: 'd0000000-0000-4000-8000-000000000000', timestamp: '2025-05-01T00:00:00.000Z', instructions: null },
      { record_type: 'state' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'local_shell_call', call_id: 'a', action: { type: 'exec', command: ['ls'] } },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
    ]),
  )
  expect(await messagesOf(path)).toMatchObject([
    [{ text: 'hi' }],
    [{ name: 'local_shell', input: { command: ['ls'] } }],
    [{ content: 'x' }],
    [{ text: 'ok' }],
  ])
})

test('endlessly nested content is left out', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const shell = item('local_shell_call', { call_id: 'b', action: 'DEEP' })
  const content = linesOf([
    meta,
    model,
    message('user', 'go'),
    calls('a', 'x', { a: 'DEEP' }),
    shell,
    output('a', { content: 'DEEP' }),
  ])
  expect(await messagesOf(fileOf(content.replaceAll('"DEEP"', deep)))).toMatchObject([
    [{ text: 'go' }],
    [{ input: { input: '[too deep]' } }, { input: { input: '[too deep]' } }],
    [{ content: [] }, { is_error: true }],
  ])
})
