import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { call, here, type Line, linesOf, installProgram, run, script } from './support/program.ts'

installProgram()
// Each starts the session with this ID again.
beforeEach(() => rmSync(join(here(), '.halting'), { recursive: true, force: true }))

const sessionId = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const uuid = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
const usage = { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const ids = { uuid, session_id: sessionId }

const result = {
  type: 'result',
  subtype: 'success',
  duration_ms: expect.any(Number),
  duration_api_ms: expect.any(Number),
  is_error: false,
  num_turns: 1,
  stop_reason: 'end_turn',
  total_cost_usd: 0.0003,
  usage,
  modelUsage: {
    'claude-sonnet-5-5': {
      inputTokens: 100,
      outputTokens: 10,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      webSearchRequests: 0,
      costUSD: 0.0003,
      contextWindow: 1_000_000,
      maxOutputTokens: 128_000,
    },
  },
  permission_denials: [],
  terminal_reason: 'completed',
  stop: {
    reason: 'completed',
    category: 'completed',
    message: expect.any(String),
    context: {},
    source: 'loop',
    forced: false,
  },
  verified: 'nothing changed',
  ...ids,
  result: 'Hello.',
}

test('prints only the last answer as text', async () => {
  const replies = script([{ content: ['I look.', call('Glob', { pattern: '*.none' })] }, { content: 'Hello.' }])
  expect(await run(['-p', 'hi', '--script', replies])).toEqual({ status: 0, stdout: 'Hello.\n', stderr: '' })
})

test('prints steps to stderr with --verbose, and the answer once (spec R-TEXT-7)', async () => {
  const replies = script([{ content: ['I look.', call('Glob', { pattern: '*.none' })] }, { content: 'Hello.' }])
  const { status, stdout, stderr } = await run(['-p', 'hi', '--verbose', '--script', replies])
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Hello.\n' })
  expect(stderr).toMatch(/^I look\.\n● Glob \*\.none\n {2}✓ .+ · \d+ ms\n$/)
})

test('with --verbose, prints once a text that did not become the answer, and once the answer of a failed run', async () => {
  const replies = script([{ content: 'None.' }, { content: 'Neither.', repeat: 9 }])
  const { stdout, stderr } = await run([
    '-p',
    'hi',
    '--verbose',
    '--json-schema',
    '{"type":"integer"}',
    '--script',
    replies,
  ])
  expect(stdout).toBe('Neither.\n')
  expect(stderr).toMatch(/^None\.\n/)
})

test('shows with --verbose the exit code and last lines of a failed command (spec R-TEXT-7)', async () => {
  const command = 'for n in 1 2 3 4 5 6 7; do echo line $n; done; exit 7'
  const replies = script([{ content: [call('Bash', { command })] }, { content: 'It failed.' }])
  const { stderr } = await run(['-p', 'hi', '--verbose', '--allowedTools', 'Bash', '--script', replies])
  expect(stderr).toMatch(/\n {2}✗ exit code 7 · \d+ ms\n {4}line 3\n {4}line 4\n {4}line 5\n {4}line 6\n {4}line 7\n$/)
})

test('with --verbose, names the call of a result that is not printed directly below the call (spec R-TEXT-7)', async () => {
  writeFileSync(join(here(), 'one.txt'), 'one\n')
  writeFileSync(join(here(), 'two.txt'), 'one\ntwo\n')
  const both = [call('Read', { file_path: 'one.txt' }), call('Read', { file_path: 'two.txt' })]
  const { stderr } = await run(['-p', 'hi', '--verbose', '--script', script([{ content: both }, { content: 'Read.' }])])
  expect(stderr.replaceAll(/\d+ ms/g, 'N ms')).toBe(
    '● Read one.txt\n● Read two.txt\n  ✓ Read one.txt: 1 line · N ms\n  ✓ Read two.txt: 2 lines · N ms\n',
  )
})

test('prints only the result message as json, on one line', async () => {
  const replies = script([{ content: 'Hello.', usage }], 'claude-sonnet-5-5')
  const args = ['-p', 'hi', '--output-format', 'json', '--session-id', sessionId, '--script', replies]
  const { status, stdout, stderr } = await run(args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(linesOf(stdout)).toEqual([result])
})

test('asks once more after an empty reply, then reports it (spec R-TEXT-3b)', async () => {
  const [once, twice] = [script([{ content: '' }, { content: 'Hello.' }]), script([{ content: '' }, { content: '' }])]
  expect(await run(['-p', 'hi', '--script', once])).toEqual({ status: 0, stdout: 'Hello.\n', stderr: '' })
  const ended = await run(['-p', 'hi', '--script', twice])
  expect(ended).toMatchObject({ status: 1, stdout: '' })
  const [line, resumeHint] = ended.stderr.split('\n')
  expect(line).toMatch(
    /^halting: no_answer: The model gave no answer: its reply contains no text \(1 turn, .*\)\. Ask for a text answer, or run it again\.$/,
  )
  expect(resumeHint).toMatch(
    /^Resume: halting -p --resume \S+ ["']Summarize in text what you did and what you found\.["']$/,
  )
  const { stderr } = await run(['-p', 'hi', '--verbose', '--script', twice])
  expect(stderr).toMatch(
    /^! The reply was empty\. \(retry 1 of 1 now\)\n! The model returned an empty reply\.\nhalting: no_answer: /,
  )
})

test('says with --verbose why and when a request is retried (spec R-TEXT-7a)', async () => {
  const replies = script([
    { error: { status: 529, message: 'We are overloaded.', headers: { 'retry-after': '0.1' } } },
    { content: '' },
    { content: 'Done.' },
  ])
  const { stderr } = await run(['-p', 'hi', '--verbose', '--script', replies])
  expect(stderr).toMatch(
    /^! 529 .*We are overloaded\. \(retry 1 of 10 in .+\)\n! The reply was empty\. \(retry \d of \d now\)/,
  )
})

test('shows with --verbose an invented tool name in one line without controls (spec R-TEXT-7)', async () => {
  const name = `Tool\u001B[2J\u202E\n${'x'.repeat(300)}`
  const { stderr } = await run([
    '-p',
    'hi',
    '--verbose',
    '--script',
    script([{ content: [call(name, {})] }, { content: 'Done.' }]),
  ])
  expect(stderr).toMatch(/^● Tool x{58}… /)
})

test('prints every message in one array for json with --verbose, init first and the result last', async () => {
  const replies = script([{ content: 'Hello\u2028there.' }], 'claude-sonnet-5-5')
  const args = ['-p', 'hi', '--output-format', 'json', '--verbose', '--session-id', sessionId, '--script', replies]
  const { status, stdout, stderr } = await run(args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const messages = JSON.parse(stdout) as readonly Line[]
  expect(messages[0]).toMatchObject({ type: 'system', subtype: 'init' })
  expect(messages.at(-1)).toMatchObject({ type: 'result', result: 'Hello\u2028there.' })
  expect(messages.filter(({ type }) => type === 'result')).toHaveLength(1)
  expect(stdout.trimEnd().split(/\n|\u2028/)).toHaveLength(messages.length)
})

test('prints every message for stream-json, init first and one result last', async () => {
  const replies = script(
    [
      { content: ['I look.', call('Glob', { pattern: '*.none' })], usage },
      { content: 'Hello.', usage },
    ],
    'claude-sonnet-5-5',
  )
  const args = ['-p', 'hi', '--output-format=stream-json', '--verbose', '--session-id', sessionId, '--script', replies]
  const { status, stdout, stderr } = await run(args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const message = (number: number, block: object): Line => ({
    type: 'assistant',
    message: {
      id: `msg_scripted_${number}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [block],
      stop_reason: null,
      stop_sequence: null,
      // What the service has sent when the block is complete.
      usage: { ...usage, output_tokens: 1 },
    },
    parent_tool_use_id: null,
    ...ids,
  })
  const [init, ...others] = linesOf(stdout)
  expect(init).toEqual({
    type: 'system',
    subtype: 'init',
    cwd: here(),
    tools: expect.arrayContaining(['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep']),
    mcp_servers: [],
    model: 'claude-sonnet-5-5',
    permissionMode: 'default',
    slash_commands: [],
    output_style: 'default',
    skills: [],
    agents: ['general-purpose'],
    plugins: [],
    apiKeySource: 'none',
    claude_code_version: '2.1.0',
    ...ids,
  })
  expect(others).toEqual([
    message(1, { type: 'text', text: 'I look.' }),
    message(1, { type: 'tool_use', id: 'toolu_scripted_1_1', name: 'Glob', input: { pattern: '*.none' } }),
    {
      type: 'user',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_scripted_1_1', content: expect.any(String) }],
      },
      parent_tool_use_id: null,
      tool_use_result: expect.anything(),
      ...ids,
    },
    message(2, { type: 'text', text: 'Hello.' }),
    {
      ...result,
      num_turns: 2,
      total_cost_usd: 0.0006,
      usage: { ...usage, input_tokens: 200, output_tokens: 20 },
      modelUsage: {
        'claude-sonnet-5-5': {
          ...result.modelUsage['claude-sonnet-5-5'],
          inputTokens: 200,
          outputTokens: 20,
          costUSD: 0.0006,
        },
      },
    },
  ])
})

test('adds the events of the service with --include-partial-messages', async () => {
  const replies = script([{ content: 'Hello.' }])
  const args = [
    '-p',
    'hi',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    '--script',
    replies,
  ]
  const lines = linesOf((await run(args)).stdout)
  const events = lines
    .filter(({ type }) => type === 'stream_event')
    .map(({ event }) => (event as { readonly type: string }).type)
  expect(events).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const ofBlock = lines.findIndex(({ event }) => (event as { readonly type?: string })?.type === 'content_block_stop')
  expect(lines[ofBlock - 1]).toMatchObject({ type: 'assistant', message: { content: [{ text: 'Hello.' }] } })
})

test('keeps a line separator within a message', async () => {
  const replies = script([{ content: 'one\u2028two\u2029three\nfour' }])
  const { stdout } = await run(['-p', 'hi', '--output-format', 'json', '--script', replies])
  expect(stdout.split(/[\n\u2028\u2029]/)).toHaveLength(2)
  expect(linesOf(stdout)[0]?.['result']).toBe('one\u2028two\u2029three\nfour')
})

test('returns an answer that matches the schema as structured_output, and sends an answer that does not match back to the model', async () => {
  const schema = '{"type":"object","properties":{"bugs":{"type":"integer"}},"required":["bugs"]}'
  const replies = script([
    { content: 'None.' },
    { expect: 'not JSON', content: '{"bugs":"none"}' },
    { expect: 'bugs', content: '```json\n{"bugs":0}\n```' },
  ])
  const { status, stdout } = await run([
    '-p',
    'hi',
    '--json-schema',
    schema,
    '--output-format',
    'json',
    '--script',
    replies,
  ])
  expect({ status, output: linesOf(stdout)[0]?.['structured_output'] }).toEqual({ status: 0, output: { bugs: 0 } })
})

test.each([
  ['{', 'is not valid JSON'],
  ['[]', 'cannot be read'],
  ['{"type":"whatever"}', 'The JSON Schema cannot be used: schema is invalid'],
  ['{"$ref":"https://example.com/a.json"}', "can't resolve reference https://example.com/a.json"],
  ['{"$schema":"http://json-schema.org/draft-04/schema#"}', 'uses an unsupported draft'],
])('refuses --json-schema %s with exit code 2, before any request (R-OUT-8)', async (schema, words) => {
  const { status, stdout, stderr } = await run([
    '-p',
    'hi',
    '--json-schema',
    schema,
    '--script',
    script([{ content: 'x' }]),
  ])
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(words) })
  expect(stderr).toMatch(/^halting: --json-schema.+\n$/)
})
