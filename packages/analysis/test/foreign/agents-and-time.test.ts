// Holds rules of docs/spec: R-FOR-1a, R-FOR-4b, R-FOR-5a, R-FOR-11, R-FOR-12: which files belong to a session of another program, how it ended, and
// how its time is attributed.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { recordsOfForeign, type ForeignRun } from '../../src/foreign/foreign-run.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { withoutSubagents } from '../../src/foreign/agent-files.ts'
import { kindOfSession, readForeignSession } from '../../src/foreign/read-foreign.ts'
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

async function runsOf(path: string): Promise<readonly ForeignRun[]> {
  return (await readForeignSession(path)).runs
}

describe('subagents of other programs', () => {
  const agent = 'a0b1c2'
  /** The lines of a session while a subagent works. */
  const progress = (id: string, output: number, fields: object = {}): object =>
    plain({
      type: 'progress',
      parentToolUseID: 't',
      data: {
        type: 'agent_progress',
        agentId: agent,
        message: {
          type: 'assistant',
          uuid: `p-${id}-${output}`,
          message: {
            id,
            role: 'assistant',
            model: 'claude-sonnet-4-5',
            content: [text('x')],
            usage: usage(100, output),
          },
        },
        ...fields,
      },
    })
  const agentResultLine = (figures: unknown, more: object = {}): object =>
    result('t', 'done', {
      toolUseResult: { status: 'completed', agentId: agent, totalTokens: 330, usage: figures, ...more },
    })

  test('of a workflow are in deeper folders and are not listed as sessions', async () => {
    const id = 'd0000000-0000-4000-8000-000000000000'
    const path = fileOf(linesOf([user('go'), assistant('m1', [text('y')])]), `${id}.jsonl`)
    const side = (message: string): string =>
      linesOf([assistant(message, [text('x')], {}, { isSidechain: true, sessionId: id, agentId: message })])
    const files = ['wf_1/agent-1.jsonl', 'wf_1/agent-2.jsonl', 'wf_2/agent-1.jsonl'].map((name) =>
      join(folder(), id, 'subagents', 'workflows', name),
    )
    for (const [index, file] of files.entries()) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, side(`w${index}`))
    }
    const [account] = await accountsOf(path)
    expect(account?.totals).toMatchObject({ turns: 1, requests: 4, tokens: 440, costUsd: 4 * 0.00045 })
    expect(await withoutSubagents([path, ...files])).toEqual([path])
  })

  test('are read from arbitrarily deeply nested progress lines', async () => {
    const opening = '{"type":"progress","data":{"type":"agent_progress","message":'
    const line = `${opening.repeat(20_000)}{}${'}}'.repeat(20_000)}`
    const path = fileOf(linesOf([user('go'), assistant('m1', [text('done')])]))
    appendFileSync(path, `\n${line}\n`)
    expect(await runsOf(path)).toHaveLength(1)
  })

  test('that only appear as progress lines count each request once, with its last figures', async () => {
    const main = [
      user('go'),
      assistant('m1', [call('t', 'Task')]),
      progress('s1', 1),
      progress('s1', 10),
      progress('s2', 10),
    ]
    const path = fileOf(linesOf([...main, agentResultLine(usage(100, 10)), assistant('m2', [text('y')])]))
    expect((await accountsOf(path))[0]?.totals).toMatchObject({ turns: 2, requests: 4, tokens: 440 })
  })

  test('with a file of their own are not counted twice', async () => {
    const id = 'e0000000-0000-4000-8000-000000000000'
    const main = [user('go'), assistant('m1', [call('t', 'Task')]), progress('s1', 1), agentResultLine(usage(100, 10))]
    const path = fileOf(linesOf([...main, assistant('m2', [text('y')])]), `${id}.jsonl`)
    mkdirSync(join(folder(), id, 'subagents'), { recursive: true })
    const own = { isSidechain: true, sessionId: id, agentId: agent, requestRef: 'r1' }
    writeFileSync(
      join(folder(), id, 'subagents', `agent-${agent}.jsonl`),
      linesOf([assistant('s1', [text('x')], {}, own)]),
    )
    expect((await accountsOf(path))[0]?.totals).toMatchObject({ turns: 2, requests: 3, tokens: 330 })
  })

  test('with only a result left count the figures of that result, for the model of their caller', async () => {
    const path = fileOf(
      linesOf([
        user('go'),
        assistant('m1', [call('t', 'Agent')]),
        agentResultLine(usage(300, 30)),
        assistant('m2', [text('y')]),
      ]),
    )
    const [account] = await accountsOf(path)
    expect(account?.totals).toMatchObject({ turns: 2, requests: 3, tokens: 550 })
    expect(account?.totals.costUsd).toBeCloseTo(2 * 0.00045 + 0.00135, 10)
  })

  test('count invalid figures as missing', async () => {
    const wrong = [
      agentResultLine('much'),
      agentResultLine({}),
      agentResultLine(usage(1, 1), { totalTokens: 'many' }),
      result('t', 'x', { toolUseResult: [] }),
    ]
    for (const line of wrong) {
      const path = fileOf(
        linesOf([user('go'), assistant('m1', [call('t', 'Agent')]), line, assistant('m2', [text('y')])]),
      )
      expect((await accountsOf(path))[0]?.totals).toMatchObject({ requests: 2 })
    }
  })
})

describe('the time in which a person answers', () => {
  const later = (seconds: number): object => ({
    timestamp: new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString(),
  })

  test.each([
    ['a question', call('q', 'AskUserQuestion', { questions: [] }), 'Blue.'],
    ['a plan', call('q', 'ExitPlanMode', { plan: 'p' }), 'User has approved your plan.'],
    [
      'a call that is refused',
      call('q'),
      "The user doesn't want to proceed with this tool use. The tool use was rejected",
    ],
  ])('is not tool time: %s', async (_what, asked, answer) => {
    const lines = [
      user('go', later(0)),
      assistant('m1', [asked], {}, later(2)),
      result('q', answer, later(3_602)),
      assistant('m2', [call('b')], {}, later(3_604)),
      result('b', 'x', later(3_609)),
      assistant('m3', [text('y')], {}, later(3_610)),
    ]
    const path = fileOf(linesOf(lines))
    const [account] = await accountsOf(path)
    expect(account?.phases.slice(0, 2)).toMatchObject([
      { phase: 'model', ms: 5_000 },
      { phase: 'tools', ms: 5_000 },
    ])
    expect(account?.totals.activeMs).toBe(10_000)
  })

  test('is not tool time in Codex', async () => {
    const item = (payload: object, seconds: number): object => ({ type: 'response_item', ...later(seconds), payload })
    const path = fileOf(
      linesOf([
        { type: 'session_meta', ...later(0), payload: { id: 'x', cwd: '/' } },
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] }, 0),
        item({ type: 'function_call', call_id: 'q', name: 'request_user_input', arguments: '{}' }, 1),
        item({ type: 'function_call_output', call_id: 'q', output: 'Blue.' }, 601),
        item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Ok.' }] }, 602),
      ]),
    )
    expect((await accountsOf(path))[0]?.totals.activeMs).toBe(2_000)
  })
})

describe('tool outputs of Codex', () => {
  const rollout = (outputs: readonly string[]): string =>
    linesOf([
      { type: 'session_meta', timestamp: '2026-01-01T00:00:00.000Z', payload: { id: 'x', cwd: '/' } },
      {
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      },
      ...outputs.flatMap((output, index) => [
        {
          type: 'response_item',
          payload: { type: 'function_call', call_id: `c${index}`, name: 'exec_command', arguments: '{"cmd":"ls"}' },
        },
        { type: 'response_item', payload: { type: 'function_call_output', call_id: `c${index}`, output } },
      ]),
    ])
  const hashes = async (outputs: readonly string[]): Promise<number> => {
    const [run] = await runsOf(fileOf(rollout(outputs)))
    if (run === undefined) throw new Error('no run')
    const { turns } = trajectoryOf(recordsOfForeign(run, prices).records)
    return new Set(turns.slice(0, -1).map(({ hash }) => hash)).size
  }
  const exec = (chunk: string, seconds: number, said: string): string =>
    `Chunk ID: ${chunk}\nWall time: ${seconds} seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n${said}`
  const json = (seconds: number): string =>
    JSON.stringify({ output: 'a', metadata: { exit_code: 0, duration_seconds: seconds } })

  test('are compared without the name and the time that Codex added', async () => {
    expect(await hashes([exec('aa01', 0.05, 'a'), exec('bb02', 0.06, 'a'), exec('cc03', 1.2, 'a'), 'end'])).toBe(1)
    expect(await hashes([json(0.1), json(0.2), json(0.3), 'end'])).toBe(1)
    expect(await hashes([exec('aa01', 0.05, 'a'), exec('aa01', 0.05, 'b'), 'end'])).toBe(2)
    // Output of the command itself counts.
    expect(await hashes([exec('a', 1, 'Wall time: 1\n'), exec('a', 1, 'Total time: 1\n'), 'end'])).toBe(2)
  })

  test('are shown in full to the model that continues the session', async () => {
    const { runs } = await readForeignSession(fileOf(rollout([exec('aa01', 0.05, 'a')])), 'newest_branch')
    expect(JSON.stringify(runs)).toContain('Chunk ID: aa01')
  })
})

describe('a saved stream', () => {
  const said = { session_id: 'f0000000-0000-4000-8000-000000000000', parent_tool_use_id: null }
  const line = (type: string, fields: object): object => ({ type, ...said, ...fields })
  const reply = (id: string, content: unknown, more: object = {}): object =>
    line('assistant', {
      message: { id, role: 'assistant', model: 'claude-sonnet-4-5', content, usage: usage(100, 10) },
      ...more,
    })
  const init = line('system', { subtype: 'init', cwd: '/home/user/project', model: 'claude-sonnet-4-5', tools: [] })
  const tool = line('user', {
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
  })
  const ends = (subtype: string, fields: object = {}): object =>
    line('result', { subtype, is_error: subtype !== 'success', total_cost_usd: 0.5, num_turns: 1, ...fields })

  test.each([
    ['success', {}, 'completed'],
    ['success', { is_error: true, result: 'API Error: 529' }, 'model_error'],
    ['error_max_turns', {}, 'max_turns'],
    ['error_max_budget_usd', {}, 'max_budget_usd'],
    ['error_during_execution', {}, 'error'],
    ['error_during_execution', { terminal_reason: 'aborted_streaming' }, 'aborted_streaming'],
    ['error_of_tomorrow', { terminal_reason: 'toString' }, 'error'],
  ])('ends as its result line says: %s %j', async (subtype, fields, reason) => {
    const path = fileOf(
      linesOf([init, reply('m1', [call('a')]), tool, reply('m2', [call('b')]), ends(subtype, fields)]),
    )
    expect(await kindOfSession(path)).toBe('claude-code')
    const session = await readForeignSession(path)
    expect(session).toMatchObject({ recordedUsd: 0.5, cwd: '/home/user/project', sessionId: said.session_id })
    expect(session.runs.map(({ ending, turns }) => [ending?.reason, turns.length])).toEqual([[reason, 2]])
    expect(session.skipped).toMatchObject({ unknown: 0, strayResults: 0 })
  })

  test('has one run for each result, does not count subagent turns, and can be continued', async () => {
    const agents = reply('s1', [text('x')], { parent_tool_use_id: 'a' })
    const path = fileOf(
      linesOf([
        init,
        reply('m1', [call('a', 'Task')]),
        agents,
        tool,
        reply('m2', [text('1')]),
        ends('success'),
        reply('m3', [text('2')]),
        ends('error_max_turns'),
      ]),
    )
    const session = await readForeignSession(path)
    expect(session.runs.map(({ ending, turns }) => [ending?.reason, turns.length])).toEqual([
      ['completed', 2],
      ['max_turns', 1],
    ])
    expect((await accountsOf(path))[0]?.totals).toMatchObject({ turns: 2, requests: 3 })
    const branch = await readForeignSession(path, 'newest_branch')
    expect(branch.runs.flatMap(({ turns }) => turns)).toHaveLength(3)
  })
})

describe('a session of Gemini CLI is recognized', () => {
  const head = { sessionId: 'g', projectHash: '0123', startTime: '2026-01-01T00:00:00.000Z' }
  const messages = [
    { id: '1', timestamp: '2026-01-01T00:00:00.000Z', type: 'user', content: 'go' },
    { id: '2', timestamp: '2026-01-01T00:00:01.000Z', type: 'gemini', content: 'Done.', model: 'gemini-3-pro' },
  ]
  test.each([
    ['lines', linesOf([head, ...messages])],
    ['lines without a head', linesOf([{ ...messages[0], sessionId: 'g' }, messages[1] ?? {}].toReversed())],
    ['a document', JSON.stringify({ ...head, messages }, null, 2)],
    ['a document on one line', JSON.stringify({ ...head, messages })],
  ])('%s', async (_what, content) => {
    const path = fileOf(content)
    await expect(kindOfSession(path)).rejects.toThrow('is a session of Gemini CLI')
    await expect(readForeignSession(path)).rejects.toThrow('is a session of Gemini CLI')
  })
})
