// Holds rules of docs/spec: R-FOR-1 to R-FOR-6.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { transcriptProblems } from '@halting/core/testing'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { beforeEach, expect, test } from 'vitest'
import { withoutSubagents } from '../../src/foreign/agent-files.ts'
import { kindOfSession, readForeignSession } from '../../src/foreign/read-foreign.ts'
import { ReadTogether } from '../../src/foreign/read-together.ts'
import { sendableRuns } from '../../src/foreign/take-over.ts'
import {
  accountsOf,
  assistant,
  call,
  fileOf,
  linesOf,
  plain,
  prices,
  resetLines,
  result,
  text,
  usage,
  useFolder,
  user,
} from './support.ts'

const folder = useFolder()
beforeEach(resetLines)

async function messagesOf(path: string): Promise<readonly unknown[]> {
  const runs = sendableRuns(await readForeignSession(path, 'newest_branch'))
  const messages = foldSession(runs.map((run) => recordsOfForeign(run, prices).records)).transcript.messages()
  expect(transcriptProblems(messages)).toEqual([])
  return messages.map(({ content }) => content)
}

test('a reply in several lines is one request with its last figures', async () => {
  const path = fileOf(
    linesOf([
      user('go'),
      assistant('m1', [{ type: 'thinking', thinking: 'hm', signature: 's' }], { usage: usage(100, 1) }),
      assistant('m1', [call('a')], { usage: usage(100, 1) }),
      result('a', '1'),
      assistant('m1', [call('b')], { usage: usage(100, 40) }),
      result('b', '2'),
      assistant('m2', [text('done')], { usage: usage(200, 5) }),
    ]),
  )
  const [account, ...more] = await accountsOf(path)
  expect(more).toEqual([])
  expect(account?.totals).toMatchObject({ turns: 2, requests: 2, tokens: 345, costUsd: (300 * 3 + 45 * 15) / 1e6 })
  expect(await messagesOf(path)).toEqual([
    'go',
    [{ type: 'thinking', thinking: 'hm', signature: 's' }, call('a'), call('b')],
    [
      { type: 'tool_result', tool_use_id: 'a', content: '1' },
      { type: 'tool_result', tool_use_id: 'b', content: '2' },
    ],
    [text('done')],
  ])
})

test('each prompt starts a run; notes and results of the program do not', async () => {
  const path = fileOf(
    linesOf([
      user('<local-command-stdout>x</local-command-stdout>'),
      user('Caveat', { isMeta: true }),
      user('one'),
      assistant('m1', [text('1')]),
      user('two'),
      assistant('m2', [call('a')]),
      result('a', 'x'),
      plain({ type: 'attachment', attachment: { type: 'queued_command', prompt: 'and three' } }),
      assistant('m3', [text('2')]),
    ]),
  )
  const { runs } = await readForeignSession(path)
  expect(runs.map(({ prompts, turns }) => [prompts.map(({ origin }) => origin), turns.length])).toEqual([
    [['loop', 'loop', 'prompt'], 1],
    [['prompt'], 2],
  ])
  expect(runs[1]?.turns[0]?.laterMessages).toEqual([{ origin: 'steer', content: 'and three' }])
})

test('endings are recognized: answered, killed, interrupted, refused by the API, at a limit', async () => {
  const refused = { isApiErrorMessage: true }
  const path = fileOf(
    linesOf([
      user('answered'),
      assistant('m1', [text('1')]),
      user('cut'),
      assistant('m2', [call('a')]),
      user('interrupted'),
      assistant('m3', [call('b')]),
      result('b', 'x'),
      user([text('[Request interrupted by user for tool use]')]),
      user('refused'),
      assistant('m4', [text('API Error: 529 overloaded')], { model: '<synthetic>' }, refused),
      user('too long'),
      assistant('m5', [text('Prompt is too long')], { model: '<synthetic>' }, refused),
      user('limit'),
      assistant('m6', [call('c')]),
      result('c', 'x'),
      plain({ type: 'attachment', attachment: { type: 'max_turns_reached', maxTurns: 1, turnCount: 2 } }),
      user('no'),
      assistant('m7', [text('I cannot')], { stop_reason: 'refusal' }),
    ]),
  )
  const { runs } = await readForeignSession(path)
  expect(runs.map(({ ending }) => [ending?.reason, ending?.message])).toEqual([
    ['completed', 'the model answered without calling a tool (inferred: Claude Code records no reason)'],
    [undefined, undefined],
    ['aborted_tools', 'interrupted by the person'],
    ['model_error', 'refused by the API: API Error: 529 overloaded'],
    ['prompt_too_long', 'refused by the API: Prompt is too long'],
    ['max_turns', '1 turn was allowed, according to Claude Code'],
    ['refusal', 'the model refused (inferred: Claude Code records no reason)'],
  ])
})

test('subagents count, in the session file and in their own files, which are not listed as sessions', async () => {
  const id = 'b0000000-0000-4000-8000-000000000000'
  const side = (message: string): object => assistant(message, [text('x')], {}, { isSidechain: true })
  const during = { isSidechain: true, timestamp: '2026-01-01T00:00:03.500Z' }
  const main = [user('go'), assistant('m1', [call('t', 'Task')]), side('s1'), side('s1'), result('t', 'x')]
  const path = fileOf(linesOf([...main, assistant('m2', [text('y')])]), `${id}.jsonl`)
  mkdirSync(join(folder(), id, 'subagents'), { recursive: true })
  const own = join(folder(), id, 'subagents', 'agent-1.jsonl')
  writeFileSync(own, linesOf([assistant('s2', [text('x')], {}, { ...during, sessionId: id })]))
  const beside = fileOf(linesOf([assistant('s3', [text('x')], {}, { ...during, sessionId: id })]), 'agent-2.jsonl')
  const [account] = await accountsOf(path)
  expect(account?.totals).toMatchObject({ turns: 2, requests: 5, tokens: 550 })
  expect(account?.tools).toMatchObject([
    { tool: 'Task', tokens: 440 },
    { tool: null, tokens: 110 },
  ])
  expect(await withoutSubagents([path, own, beside])).toEqual([path])
  expect(await withoutSubagents([own])).toEqual([own])
  expect((await accountsOf(own))[0]?.totals).toMatchObject({ turns: 1, tokens: 110 })
})

test('later subagent files count when folders are scanned again', async () => {
  const id = 'c0000000-0000-4000-8000-000000000000'
  const path = fileOf(linesOf([user('go'), assistant('m1', [text('y')])]), `${id}.jsonl`)
  const together = new ReadTogether()
  const besides = async (): Promise<number> => {
    const { runs } = await readForeignSession(path, 'all', together)
    return runs.flatMap(({ turns }) => turns.flatMap(({ agentRequests: beside }) => beside)).length
  }
  expect(await besides()).toBe(0)
  fileOf(linesOf([assistant('s1', [text('x')], {}, { isSidechain: true, sessionId: id })]), 'agent-3.jsonl')
  together.forgetFolders()
  expect(await besides()).toBe(1)
})

test('a rewind continues on the newest branch, and all branches count', async () => {
  const path = fileOf(
    linesOf([
      user('one'),
      assistant('m1', [text('1')]),
      user('wrong'),
      assistant('m2', [text('2')]),
      user('right', { parentUuid: 'u2' }),
      assistant('m3', [text('3')]),
    ]),
  )
  expect((await accountsOf(path)).map(({ totals }) => totals.tokens)).toEqual([110, 110, 110])
  expect(await messagesOf(path)).toEqual(['one', [text('1')], 'right', [text('3')]])
})

test('parallel calls are branches of one reply, and all their results are read', async () => {
  const path = fileOf(
    linesOf([
      user('go'),
      assistant('m1', [call('a')]),
      assistant('m1', [call('b')]),
      result('a', '1', { parentUuid: 'u2' }),
      result('b', '2', { parentUuid: 'u3' }),
      assistant('m2', [text('done')]),
    ]),
  )
  expect(await messagesOf(path)).toMatchObject([
    'go',
    [{ id: 'a' }, { id: 'b' }],
    [{ content: '1' }, { content: '2' }],
    [text('done')],
  ])
})

test('compacted messages are not sent again', async () => {
  const path = fileOf(
    linesOf([
      user('old'),
      assistant('m1', [text('1')]),
      plain({ type: 'system', subtype: 'compact_boundary', parentUuid: null, logicalParentUuid: 'u2' }),
      user('summary', { isCompactSummary: true }),
      user('new'),
      assistant('m2', [text('2')]),
    ]),
  )
  expect(await messagesOf(path)).toEqual(['summary', 'new', [text('2')]])
})

test('open calls get a result that says so, duplicate ids are renamed, and images are preserved', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
  const path = fileOf(
    linesOf([
      user([text('look'), image]),
      assistant('m1', [call('a')]),
      result('a', [image]),
      assistant('m2', [call('a'), call('')]),
      user('go on'),
    ]),
  )
  const messages = await messagesOf(path)
  expect(messages).toMatchObject([
    [text('look'), image],
    [{ id: 'a' }],
    [{ content: [image] }],
    [{ id: 'a_2' }, { id: 'call' }],
    [
      { tool_use_id: 'a_2', is_error: true, content: expect.stringContaining('may have taken effect') },
      { tool_use_id: 'call', is_error: true },
    ],
  ])
})

test('missing and absurd figures count as missing and are reported', async () => {
  const path = fileOf(
    linesOf([
      user('go'),
      assistant('m1', [call('a')], { usage: undefined }),
      result('a', ''),
      assistant('m2', [call('b')], { usage: { input_tokens: -5, output_tokens: '7', cache_read_input_tokens: 1e300 } }),
      result('b', ''),
      assistant('m3', [text('x')], {
        usage: { input_tokens: 10, output_tokens: 0.5, cache_creation_input_tokens: null },
      }),
    ]),
  )
  const session = await readForeignSession(path)
  expect(session.skipped).toMatchObject({ withoutFigures: 1 })
  expect((await accountsOf(path))[0]?.totals).toMatchObject({ turns: 3, tokens: 10 })
})

test('reads CRLF, a byte order mark, zero bytes, invalid UTF-8, a line of 10 MB and a torn tail', async () => {
  const long = 'x'.repeat(10 * 1024 * 1024)
  const lines = linesOf([user('go'), assistant('m1', [call('a')]), result('a', long), assistant('m2', [text('ok')])])
  const content = Buffer.concat([
    Buffer.from([0xef, 0xbb, 0xbf]),
    Buffer.from(lines.replaceAll('\n', '\r\n')),
    Buffer.from([0, 0, 0, 10, 0xff, 0xfe, 10]),
    Buffer.from('{"type":"assistant","message":{"ro'),
  ])
  const session = await readForeignSession(fileOf(content))
  expect(session.skipped).toMatchObject({ damaged: 2, unknown: 0 })
  expect(session.runs).toHaveLength(1)
  const [run] = session.runs
  expect(run?.turns[0]?.results[0]?.content).toHaveLength(long.length)
  expect(run?.ending?.reason).toBe('completed')
})

test('unknown kinds of lines are counted, and files of other formats are rejected', async () => {
  const path = fileOf(linesOf([user('go'), plain({ type: 'new-kind' }), assistant('m1', [text('1')])]))
  expect((await readForeignSession(path)).skipped).toMatchObject({ unknown: 1, kinds: ['new-kind'] })
  for (const content of ['', '\0\0', '[1]\n', '{"no":"session"}\n']) {
    const file = fileOf(content)
    expect(await kindOfSession(file)).toBeUndefined()
    await expect(readForeignSession(file)).rejects.toThrow('is not a session of')
  }
  expect(await kindOfSession(fileOf('{"type":"halting","format":1}\n'))).toBe('halting')
})

test('replies and tools take the time between the timestamps of lines', async () => {
  const path = fileOf(
    linesOf([user('go'), assistant('m1', [call('a')]), result('a', ''), assistant('m2', [text('1')])]),
  )
  const { runs } = await readForeignSession(path)
  const [account] = await accountsOf(path)
  expect(account?.phases.slice(0, 2)).toMatchObject([
    { phase: 'model', ms: 2_000 },
    { phase: 'tools', ms: 1_000 },
  ])
  const [run] = runs
  if (run === undefined) throw new Error('no run')
  const { turns } = trajectoryOf(recordsOfForeign(run, prices).records)
  expect(turns.map(({ endMs, calls }) => [endMs, calls.length])).toEqual([
    [2_000, 1],
    [3_000, 0],
  ])
})

test('a session that continues in another file counts the copied lines once', async () => {
  const first = [user('one'), assistant('m1', [call('a')]), result('a', 'x'), assistant('m2', [text('1')])]
  const more = [user('two'), assistant('m3', [text('2')])]
  const paths = [fileOf(linesOf(first)), fileOf(linesOf([...first, ...more]))]
  const together = new ReadTogether()
  const turns: number[] = []
  const copied: number[] = []
  for (const path of paths) {
    const { runs, skipped } = await readForeignSession(path, 'all', together)
    turns.push(...runs.map((run) => run.turns.length))
    copied.push(skipped.copied)
  }
  expect({ turns, copied }).toEqual({ turns: [2, 1], copied: [0, 4] })
})

test('endlessly nested content is left out', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const lines = [user('go'), assistant('m1', [call('a', 'Bash', 'DEEP')]), result('a', 'DEEP'), user('DEEP')]
  const path = fileOf(linesOf([...lines, result('b', [{ type: 'image', source: 'DEEP' }])]).replaceAll('"DEEP"', deep))
  const session = await readForeignSession(path)
  expect(session.runs).toHaveLength(1)
  expect(session.skipped).toMatchObject({ strayResults: 2 })
  expect(await messagesOf(path)).toEqual(['go'])
})

test('repetition is detected as in sessions of Halting', async () => {
  const lines = [user('go')]
  for (let index = 0; index < 20; index++)
    lines.push(assistant(`m${index}`, [call(`a${index}`, 'Read', { file_path: 'same' })]), result(`a${index}`, 'x'))
  const { runs } = await readForeignSession(fileOf(linesOf(lines)))
  const [trajectory] = runs.map((run) => trajectoryOf(recordsOfForeign(run, prices).records))
  expect(trajectory && whatIf(trajectory, { noProgress: true })).toMatchObject({
    verdict: 'stops',
    reason: 'no_progress',
    toldAfterTurn: 3,
    kept: { turns: 5 },
    saved: { turns: 15 },
  })
})
