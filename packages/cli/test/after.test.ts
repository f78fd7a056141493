// Holds rules of docs/spec: R-AFTER-1 to R-AFTER-10 in the program.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, here, installProgram, linesOf, run, start, projectName } from './support/program.ts'

installProgram()

const stream = ['--output-format', 'stream-json', '--verbose']

function folder(replies: readonly unknown[], model = 'claude-haiku-4-5') {
  const cwd = mkdtempSync(join(here(), 'after-'))
  const script = join(cwd, 'script.json')
  writeFileSync(script, JSON.stringify({ model, replies }))
  return { cwd, asks: (...flags: readonly string[]) => ['-p', 'fix it', '--script', script, ...flags] }
}

const types = (stdout: string) => linesOf(stdout).map(({ type, subtype }) => (type === 'system' ? subtype : type))

test('runs no stage after a run unless one is requested', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: 'never asked' }])
  const { stdout, status } = await run(asks(...stream), { cwd })
  expect([status, types(stdout)]).toEqual([0, ['init', 'assistant', 'result']])
})

test('prints a suggestion after the result, as one sanitized line', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: '"Run \u001B[31mthe\u0007 tests"\nand rm -rf /' }])
  const { stdout, status } = await run(asks('--prompt-suggestions', ...stream), { cwd })
  expect([status, types(stdout)]).toEqual([0, ['init', 'assistant', 'result', 'prompt_suggestion', 'stage_ended']])
  const lines = linesOf(stdout)
  expect(lines.at(-2)).toMatchObject({ suggestion: 'Run the tests' })
  expect(lines.at(-1)).toMatchObject({ stage: 'prompt_suggestion', run_id: 'run1', reason: 'completed', num_turns: 1 })
  // Its cost belongs to the session, but not to the run.
  const result = lines.find(({ type }) => type === 'result')
  const total = Number(result?.['total_cost_usd']) + Number(lines.at(-1)?.['cost_usd'])
  expect(Number(lines.at(-1)?.['cost_usd'])).toBeGreaterThan(0)
  const listed = JSON.parse((await run(['sessions', '--json'], { cwd })).stdout) as {
    readonly sessions: readonly { readonly total_cost_usd: number }[]
  }
  expect(listed.sessions[0]?.total_cost_usd).toBeCloseTo(total, 9)
  const why = await run(['why'], { cwd })
  expect(why.stdout).toMatch(/After the run\n {2}prompt_suggestion: completed, 1 turn, [\d,]+ tokens, \$0\.00/)
  const reported = JSON.parse((await run(['why', '--json'], { cwd })).stdout) as { readonly stages: unknown }
  expect(reported.stages).toMatchObject([{ id: 'run1/after/prompt_suggestion', ended: { reason: 'completed' } }])
  const next = await run(asks('--continue', ...stream), { cwd })
  const after = linesOf(next.stdout).at(-1)
  expect(Number(after?.['total_cost_usd'])).toBeGreaterThan(total)
})

test('prints the suggestion to stderr in text mode, with only the answer on stdout; json contains only the result', async () => {
  const replies = [{ content: 'Fixed.' }, { content: 'Run the tests' }]
  const { cwd, asks } = folder(replies)
  expect(await run(asks('--prompt-suggestions'), { cwd })).toEqual({
    status: 0,
    stdout: 'Fixed.\n',
    stderr: 'Next: Run the tests\n',
  })
  const { stdout } = await run(asks('--prompt-suggestions', '--output-format', 'json'), { cwd })
  expect(JSON.parse(stdout)).toMatchObject({ type: 'result', result: 'Fixed.' })
  const all = await run(asks('--prompt-suggestions', '--output-format', 'json', '--verbose'), { cwd })
  const array = JSON.parse(all.stdout) as readonly { readonly type: string }[]
  expect(array.map(({ type }) => type)).toEqual(['system', 'assistant', 'result', 'prompt_suggestion', 'system'])
})

test.each<[string, readonly unknown[], readonly string[], number]>([
  ['a limit', [{ content: [call('Read', { file_path: 'x' })] }, { content: 'never' }], ['--max-turns', '1'], 3],
  ['a failure', [{ error: { status: 400, type: 'invalid_request_error', message: 'bad' } }], [], 1],
  ['a stop by a hook', [{ content: 'Fixed.' }, { content: 'never' }], ['--settings', JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command: `echo '{"continue":false,"stopReason":"no"}'` }] }] } })], 4], // prettier-ignore
])('starts no stage after %s, and exits with the code of the run', async (_what, replies, flags, code) => {
  const { cwd, asks } = folder(replies)
  const { stdout, status } = await run(asks('--prompt-suggestions', ...flags, ...stream), { cwd })
  expect(types(stdout).at(-1)).toBe('result')
  expect(status).toBe(code)
})

test('reports a failed stage, and the run stays successful', async () => {
  const fault = { error: { status: 400, type: 'invalid_request_error', message: 'no such model' } }
  const { cwd, asks } = folder([{ content: 'Fixed.' }, fault])
  const { status, stdout, stderr } = await run(asks('--prompt-suggestions'), { cwd })
  expect([status, stdout]).toEqual([0, 'Fixed.\n'])
  expect(stderr).toMatch(/^halting: prompt_suggestion after the run: failed: .*no such model/)
})

/** Almost the highest possible cost of the request: all input written to the cache for an hour. */
const dear = {
  input_tokens: 0,
  output_tokens: 1_000,
  cache_creation_input_tokens: 10_500,
  cache_creation: { ephemeral_1h_input_tokens: 10_500, ephemeral_5m_input_tokens: 0 },
}

test('bounds stages after the run by the budget of the session', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.', usage: dear }, { content: 'never' }]) // prettier-ignore
  const { status, stdout } = await run(asks('--prompt-suggestions', '--max-budget-usd', '0.0288', ...stream), { cwd })
  expect(status).toBe(0)
  expect(linesOf(stdout).at(-1)).toMatchObject({ subtype: 'stage_ended', reason: 'max_budget_usd', cost_usd: 0 })
})

test.each([
  ['SIGINT', 'text'],
  ['SIGTERM', 'stream-json'],
] as const)('stops a hanging stage and the program at %s, with the exit code of the run', async (signal, format) => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: 'late', delay_ms: 600_000 }])
  const flags = format === 'text' ? [] : stream
  const running = start(asks('--prompt-suggestions', ...flags), { cwd })
  await running.waitForOutput('Fixed.')
  await journalSays(cwd, '"phase":"began"')
  running.child.kill(signal)
  const { status, stdout, stderr } = await running.ended
  expect(status).toBe(0)
  const reported = format === 'text' ? stderr : stdout
  expect(reported).toMatch(/prompt_suggestion after the run: aborted|"stage_ended",.*"reason":"aborted"/)
  expect((await run(['why'], { cwd })).stdout).toContain('prompt_suggestion: aborted')
})

test('keeps a session that was killed during a stage intact, reports the kill, and resumes', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: 'late', delay_ms: 600_000 }])
  const running = start(asks('--prompt-suggestions'), { cwd })
  await journalSays(cwd, '"phase":"began"')
  running.child.kill('SIGKILL')
  expect((await running.ended).stdout).toBe('Fixed.\n')
  const why = await run(['why'], { cwd })
  expect(why.stdout).toContain('completed')
  expect(why.stdout).toMatch(/prompt_suggestion: killed before it finished\. It may have cost .*\$\d/)
  const next = folder([{ content: 'Next.' }])
  const { status, stdout } = await run([...next.asks('--continue')], { cwd })
  expect([status, stdout]).toEqual([0, 'Next.\n'])
})

test('uses another model if --small-model or a user setting names one', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: 'Run the tests' }], 'claude-sonnet-4-5')
  const flags = ['--prompt-suggestions', '--small-model', 'claude-haiku-4-5', ...stream]
  expect((await run(asks(...flags), { cwd })).status).toBe(0)
  const why = JSON.parse((await run(['why', '--json'], { cwd })).stdout) as { readonly stages: readonly unknown[] }
  expect(why.stages).toMatchObject([{ ended: { modelUsage: { 'claude-haiku-4-5': {} } } }])
})

test('user settings can enable suggestions, but project settings cannot', async () => {
  const { cwd, asks } = folder([{ content: 'Fixed.' }, { content: 'Run the tests' }])
  const wanted = JSON.stringify({ promptSuggestionEnabled: true, smallModel: 'claude-haiku-4-5' })
  const own = await run(asks('--settings', wanted), { cwd })
  expect(own.stderr).toBe('Next: Run the tests\n')
  writeFileSync(join(cwd, '.git'), '')
  const { mkdirSync } = await import('node:fs')
  mkdirSync(join(cwd, '.halting'))
  writeFileSync(join(cwd, '.halting', 'settings.json'), wanted)
  const project = await run(asks('--trust'), { cwd })
  expect(project.stderr).not.toContain('Next:')
  expect(project.stderr).toContain('promptSuggestionEnabled in')
})

test('counts each hook in the summary of hooks, without a model request', async () => {
  const { cwd, asks } = folder([
    {
      content: [
        call('Write', { file_path: 'a.txt', content: 'a' }),
        call('Write', { file_path: 'b.txt', content: 'b' }),
      ],
    },
    { content: 'Done.' },
  ])
  const on = (command: string, matcher = '') => ({ matcher, hooks: [{ type: 'command', command }] })
  const hooks = {
    PreToolUse: [on('grep -q a.txt && exit 0; echo no >&2; exit 2', 'Write'), on('true # second', 'Write')],
    Stop: [on('true')],
  }
  const flags = ['--hook-summary', '--permission-mode', 'acceptEdits', '--settings', JSON.stringify({ hooks })]
  const { stdout } = await run(asks(...flags, ...stream), { cwd })
  expect(types(stdout).slice(-2)).toEqual(['result', 'hook_summary'])
  const { hooks: reported } = linesOf(stdout).at(-1) as unknown as {
    readonly hooks: readonly { readonly [field: string]: unknown }[]
  }
  const rows = reported.map(({ hook_event: event, hook_name: name, count, decisions }) => [
    event,
    name,
    count,
    decisions,
  ])
  expect(rows.toSorted((one, other) => (String(one) < String(other) ? -1 : 1))).toEqual([
    ['PreToolUse', expect.stringContaining('grep -q'), 2, { none: 1, deny: 1 }],
    ['PreToolUse', 'true # second', 2, { none: 2 }],
    ['Stop', 'true', 1, { none: 1 }],
  ])
  const text = await run(asks(...flags), { cwd })
  expect(text.stdout).toBe('Done.\n')
  expect(text.stderr).toContain('Hooks of this run:\n')
  expect(text.stderr).toMatch(/ {2}PreToolUse {2}true # second {2}2 calls, .*: 2 none/)
})

test('lists possible stages after the run in halting check', async () => {
  const { stdout } = await run(['check', '--prompt-suggestions', '--model', 'claude-haiku-4-5'])
  expect(stdout).toContain('After a completed run: prompt_suggestion, at most 1 turn, 20,000 tokens, $0.0200, 15.0 s')
  const json = await run(['check', '--prompt-suggestions', '--json', '--model', 'claude-haiku-4-5'])
  expect(JSON.parse(json.stdout)).toMatchObject({ after: [{ stage: 'prompt_suggestion', maxTurns: 1 }] })
})

/** Waits until the session file of this folder contains the text. */
async function journalSays(cwd: string, text: string): Promise<void> {
  const base = join(here(), '.halting', 'projects', projectName(cwd))
  for (;;) {
    try {
      const names = readdirSync(base).filter((name) => name.endsWith('.jsonl'))
      if (names.some((name) => readFileSync(join(base, name), 'utf8').includes(text))) return
    } catch {
      // It does not exist yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
