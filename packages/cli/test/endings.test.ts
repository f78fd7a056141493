import { expect, test } from 'vitest'
import { call, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const look = (pattern: string) => ({ content: ['I look.', call('Glob', { pattern })] })
const priced = 'claude-sonnet-5-5'

/** Runs once for programs and once for people. */
async function bothWays(makeScript: () => string, args: readonly string[] = []) {
  const json = await run(['-p', 'hi', '--output-format', 'stream-json', '--verbose', ...args, '--script', makeScript()])
  const text = await run(['-p', 'hi', ...args, '--script', makeScript()])
  const lines = linesOf(json.stdout)
  const results = lines.filter(({ type }) => type === 'result')
  return {
    statuses: [json.status, text.status],
    results: results.length,
    last: lines.at(-1)?.type,
    first: lines[0]?.subtype,
    subtype: results[0]?.subtype,
    reason: results[0]?.['terminal_reason'],
    errors: results[0]?.['errors'],
    lastAnswer: results[0]?.['last_answer'],
    text,
  }
}

const oneResult = { results: 1, last: 'result', first: 'init' }

test('completed: 0', async () => {
  expect(await bothWays(() => script([{ content: 'Done.' }]))).toEqual({
    ...oneResult,
    statuses: [0, 0],
    subtype: 'success',
    reason: 'completed',
    errors: undefined,
    text: { status: 0, stdout: 'Done.\n', stderr: '' },
  })
})

test('finish_reason: exits with 0, and prints the answer so far', async () => {
  const end = await bothWays(
    () => script([{ content: 'Half.', stop_reason: 'stop_sequence' }]),
    ['--finish-reasons', 'stop_sequence'],
  )
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [0, 0],
    subtype: 'success',
    reason: 'finish_reason',
    text: { stdout: 'Half.\n', stderr: '' },
  })
})

test('max_turns: 3, and what to do next', async () => {
  const end = await bothWays(() => script([look('a'), look('b'), look('c')]), ['--max-turns', '2'])
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    subtype: 'error_max_turns',
    reason: 'max_turns',
    errors: ['Reached maximum number of turns (2)'],
    text: { stdout: '' },
  })
  expect(end.text.stderr).toMatch(
    /^halting: max_turns: Reached maximum number of turns \(2\) \(2 turns, [\d,]+ tokens, [^)$]+\)\. Raise --max-turns, or add --wrap-up for a final answer\.\nResume: halting -p --resume [-0-9a-f]{36} --max-turns 4\n$/,
  )
})

test('prints the resume command if the session can be resumed (spec R-TEXT-3c)', async () => {
  const replies = script([look('a'), look('b'), { content: 'Nothing.' }])
  const { stderr } = await run(['-p', 'hi', '--quiet', '--max-turns', '1', '--script', replies])
  const [, session = ''] = /\nResume: halting -p --resume (\S+) --max-turns 2\n$/.exec(stderr) ?? []
  const more = script([look('b'), { content: 'Nothing.' }])
  const again = await run(['-p', '--resume', session, '--max-turns', '5', '--script', more])
  expect(again).toMatchObject({ status: 0, stdout: 'Nothing.\n', stderr: '' })
  const unkept = ['--no-session-persistence', '--max-turns', '1']
  expect((await run(['-p', 'hi', ...unkept, '--script', script([look('a')])])).stderr).not.toContain('Resume:')
  const refused = await run(['-p', 'hi', '--script', script([{ content: '', stop_reason: 'refusal' }])])
  expect([refused.status, refused.stderr]).toEqual([1, expect.not.stringContaining('Resume:')])
  const json = ['--max-turns', '1', '--output-format', 'json']
  expect((await run(['-p', 'hi', ...json, '--script', script([look('a')])])).stderr).toBe('')
})

test('gives a final answer at the limit with --wrap-up, without changing the ending', async () => {
  const end = await bothWays(
    () => script([look('a'), { content: 'So far: nothing.' }]),
    ['--max-turns', '1', '--wrap-up'],
  )
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    reason: 'max_turns',
    lastAnswer: 'So far: nothing.',
    text: { stdout: 'So far: nothing.\n' },
  })
  // Advice never names a flag that was given (spec R-TEXT-5).
  expect(end.text.stderr).toMatch(/\)\. Raise --max-turns\.\nResume: [^\n]+ --max-turns 2\n$/)
})

test('does not advise to name a model that was named (spec R-TEXT-5)', async () => {
  const failing = () => script([{ error: { status: 500 }, repeat: 30 }])
  const env = { CLAUDE_CODE_MAX_RETRIES: '0' }
  const models = ['--model', 'claude-sonnet-5-5', '--fallback-model', 'claude-opus-4-8']
  expect((await run(['-p', 'hi', '--script', failing()], { env })).stderr).toContain(
    'or choose another model with --model or --fallback-model; --wait-for-limits 8h waits until the service answers.',
  )
  expect((await run(['-p', 'hi', ...models, '--script', failing()], { env })).stderr).toMatch(
    /\)\. Run it again; --wait-for-limits 8h waits until the service answers\.\nResume: halting -p --resume \S+\n$/,
  )
})

test('max_budget_usd: 3, named budget_exhausted on the wire', async () => {
  const dear = { ...look('a'), usage: { input_tokens: 5_000, output_tokens: 1_000 }, repeat: 9 }
  const end = await bothWays(() => script([dear], priced), ['--max-budget-usd', '0.07'])
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    subtype: 'error_max_budget_usd',
    reason: 'budget_exhausted',
    errors: [
      expect.stringMatching(
        /^Reached maximum budget \(\$0\.07\): \$[\d.]+ is used, and the next request may cost up to \$[\d.]+$/,
      ),
    ],
  })
  expect(end.text.stderr).toMatch(
    /Raise --max-budget-usd to 0\.\d+ or more, or add --wrap-up for a final answer\.\nResume: [^\n]+ --max-budget-usd 0\.\d+\n$/,
  )
})

test('says what the first request needs, by flag, if a budget is too low for it', async () => {
  const end = await bothWays(() => script([look('a')], priced), ['--max-budget-usd', '0.001'])
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    reason: 'budget_exhausted',
    errors: [expect.stringMatching(/^No request fits a budget of \$0\.001: the first one may cost up to \$[\d.]+$/)],
  })
  expect(end.text.stderr).toMatch(
    /Raise --max-budget-usd to [\d.]+ or more, or choose a cheaper model with --model\.\nResume: [^\n]+\n$/,
  )
  const enough = /Raise --max-budget-usd to ([\d.]+)/.exec(end.text.stderr)?.[1] ?? ''
  const now = await bothWays(() => script([{ content: 'Yes.' }], priced), ['--max-budget-usd', enough])
  expect(now).toMatchObject({ statuses: [0, 0] })
})

test('lists changed files in the line about an ending, with + and − (spec R-TEXT-3a)', async () => {
  const file = 'changed.txt'
  const replies = script([
    { content: [call('Write', { file_path: file, content: 'one\ntwo\nthree\n' })] },
    { content: [call('Edit', { file_path: file, old_string: 'two\n', new_string: '' })] },
    { content: [call('Write', { file_path: 'other.txt', content: 'one' })] },
  ])
  const { stderr } = await run(['-p', 'hi', '--max-turns', '3', '--allowedTools', 'Edit', '--script', replies])
  expect(stderr).toMatch(/, 2 files changed \+4 −1\)\. Raise --max-turns/)
})

test('enforces a dollar budget, however much the model writes', async () => {
  const long = () => script([{ content: 'word '.repeat(20_000), repeat: 9 }], priced)
  for (const budget of ['0.07', '0.2']) {
    const { stdout } = await run([
      '-p',
      'hi',
      '--output-format',
      'json',
      '--max-budget-usd',
      budget,
      '--script',
      long(),
    ])
    const result = linesOf(stdout).at(-1)
    expect(result).toMatchObject({ type: 'result', terminal_reason: 'budget_exhausted' })
    expect(result?.['total_cost_usd']).toBeLessThanOrEqual(Number(budget))
    expect(result?.['total_cost_usd']).toBeGreaterThan(0)
  }
})

test('enforces a token budget, however much the model writes', async () => {
  const replies = script([{ content: 'word '.repeat(20_000), repeat: 9 }], priced)
  const { stdout } = await run(['-p', 'hi', '--output-format', 'json', '--max-tokens', '15000', '--script', replies])
  const result = linesOf(stdout).at(-1)
  expect(result).toMatchObject({ type: 'result', terminal_reason: 'token_limit' })
  // Hosts receive numbers by name.
  const { input_tokens = 0, output_tokens = 0 } = (result?.['usage'] ?? {}) as Readonly<Record<string, number>>
  expect(input_tokens + output_tokens).toBeLessThanOrEqual(15_000)
  expect(output_tokens).toBeGreaterThan(0)
})

test('reports a retry in readable units', async () => {
  const replies = script([{ error: { status: 529, headers: { 'retry-after': '2' } } }, { content: 'ok' }])
  const { stderr } = await run(['-p', 'hi', '--verbose', '--script', replies])
  expect(stderr).toMatch(/! 529 .* \(retry 1 of \d+ in 2\.0 s\)/)
})

test('token_limit: 3', async () => {
  const end = await bothWays(() => script([look('a'), look('b')]), ['--max-tokens', '1000'])
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    subtype: 'error_during_execution',
    reason: 'token_limit',
  })
})

test('time_limit: 3, also while a command runs', async () => {
  const end = await bothWays(
    () => script([{ content: [call('Bash', { command: 'sleep 300' })] }]),
    ['--max-duration', '1500ms', '--allowedTools', 'Bash'],
  )
  expect(end).toMatchObject({ ...oneResult, statuses: [3, 3], subtype: 'error_during_execution', reason: 'time_limit' })
})

test('says in the line about an interrupted request what it may have cost', async () => {
  const replies = script([{ content: 'Never whole.', fault: { kind: 'hang', at: 'within' } }], priced)
  const { stderr } = await run(['-p', 'hi', '--max-duration', '1500ms', '--script', replies])
  expect(stderr).toMatch(
    /^halting: time_limit: .+ \([^)]*, up to [\d,]+ tokens, up to \$\d\.\d{2,4}, 1\.\d s\)\. Raise --max-duration\.\nResume: [^\n]+ --max-duration 3s\n$/,
  )
})

test('no_progress: exits with 3, without any flag', async () => {
  const end = await bothWays(() => script([{ ...look('*.none'), repeat: 30 }]))
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    subtype: 'error_during_execution',
    reason: 'no_progress',
  })
})

test('structured_output_retry_exhausted: 3', async () => {
  const end = await bothWays(() => script([{ content: 'no', repeat: 9 }]), ['--json-schema', '{"type":"integer"}'])
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [3, 3],
    subtype: 'error_max_structured_output_retries',
    reason: 'structured_output_retry_exhausted',
    errors: [
      'The answer does not match the output schema: it is not JSON (Unexpected token \'o\', "no" is not valid JSON)',
    ],
  })
  const why = await run(['why'])
  expect(why.stdout.replaceAll('\n', ' ')).toContain(
    'structured_output_retry_exhausted: The answer does not match the output schema: it is not JSON (',
  )
  expect(why.stdout).toContain('the answer does not match the schema: 5 times')
  expect(why.stdout).toContain('Simplify the schema, or describe its fields in the prompt.')
})

test('stop_hook_unmet: 4, with the answer and the demand of the hook', async () => {
  const hooks = { Stop: [{ hooks: [{ type: 'command', command: 'echo tests fail >&2; exit 2' }] }] }
  const end = await bothWays(() => script([{ content: 'Done.', repeat: 9 }]), ['--settings', JSON.stringify({ hooks })])
  const message = expect.stringMatching(/^The stop hook settings:Stop .*: tests fail$/)
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [4, 4],
    subtype: 'error_during_execution',
    reason: 'stop_hook_unmet',
    errors: [message],
    lastAnswer: 'Done.',
    text: { stdout: 'Done.\n' },
  })
  expect(end.text.stderr).toMatch(/^halting: stop_hook_unmet: .*\nResume: halting -p --resume \S+ Continue\.\n$/)
  const why = await run(['why'])
  expect(why.stdout.replaceAll('\n', ' ')).toContain('stop_hook_unmet: The stop hook settings:Stop')
})

test('no_answer: 1, with the last text of the run as its answer (spec R-GOAL-21, R-GOAL-22, R-TEXT-3b)', async () => {
  const silent = { content: [call('Glob', { pattern: 'a' })] }
  const nothing = { content: '', repeat: 2 }
  const end = await bothWays(() => script([silent, nothing]))
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [1, 1],
    subtype: 'error_during_execution',
    reason: 'no_answer',
    errors: ['The model gave no answer: none of its 2 replies contains text'],
    lastAnswer: undefined,
    text: { stdout: '' },
  })
  const said = await bothWays(() => script([look('a'), silent, nothing]))
  expect(said).toMatchObject({
    statuses: [0, 0],
    subtype: 'success',
    reason: 'completed',
    text: { stdout: 'I look.\n' },
  })
  const args = ['--output-format', 'json', '--script', script([look('a'), nothing])]
  expect(linesOf((await run(['-p', 'hi', ...args])).stdout)[0]).toMatchObject({ result: 'I look.' })
})

test('model_error: 1, with what to check', async () => {
  const end = await bothWays(() => script([{ error: { status: 401, message: 'invalid x-api-key' } }]))
  expect(end).toMatchObject({
    ...oneResult,
    statuses: [1, 1],
    subtype: 'error_during_execution',
    reason: 'model_error',
  })
  expect(end.text.stderr).toContain('invalid x-api-key')
  expect(end.text.stderr).toContain('Check the API key; halting doctor shows where it comes from.')
})

test('refusal: 1', async () => {
  const end = await bothWays(() => script([{ content: 'No.', stop_reason: 'refusal' }]))
  expect(end).toMatchObject({ ...oneResult, statuses: [1, 1], reason: 'refusal' })
})

test('error: 1, if the policy says that a failed tool ends the run', async () => {
  const end = await bothWays(
    () => script([{ content: [call('Bash', { command: 'exit 7' })] }, { content: 'never' }]),
    ['--error-policy', 'tools', '--allowedTools', 'Bash'],
  )
  expect(end).toMatchObject({ ...oneResult, statuses: [1, 1], reason: 'error', text: { stdout: '' } })
})

test('switches to the fallback model when the first is overloaded', async () => {
  const replies = script([
    { error: { status: 529, headers: { 'retry-after': '0' } }, repeat: 3 },
    { content: 'From the other.' },
  ])
  const { status, stdout } = await run([
    '-p',
    'hi',
    '--fallback-model',
    'other',
    '--output-format',
    'json',
    '--script',
    replies,
  ])
  expect({ status, models: Object.keys(linesOf(stdout)[0]?.['modelUsage'] as object) }).toEqual({
    status: 0,
    models: ['other'],
  })
})
