// Spec R-SETHOOK-1, R-SETHOOK-18, R-SETHOOK-19: hooks from settings in the program.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HookFigures } from '@halting/core'
import { call, here, installProgram, run } from './support/program.ts'

installProgram()

const hook = (command: string, more: object = {}) => ({ type: 'command', command, ...more })
const on = (command: string, matcher = '') => [{ matcher, hooks: [hook(command)] }]

function folder(replies: readonly unknown[]): { readonly cwd: string; readonly script: string } {
  const cwd = mkdtempSync(join(here(), 'hooks-'))
  const script = join(cwd, 'script.json')
  writeFileSync(script, JSON.stringify({ model: 'claude-haiku-4-5', replies }))
  return { cwd, script }
}

const write = { content: ['I write.', call('Write', { file_path: 'a.txt', content: 'hi\n' })] }
const done = { content: 'Done.' }
const stream = ['--output-format', 'stream-json', '--verbose', '--include-hook-events']

test('runs hooks of --settings, and emits each one in the stream after init and before the result', async () => {
  const { cwd, script } = folder([write, done])
  const hooks = {
    SessionStart: on('echo be brief'),
    PreToolUse: on('cat > pre.json', 'Write'),
    PostToolUse: on('echo lint >&2; exit 2', 'Write|Edit'),
    Stop: on('true'),
    SessionEnd: on('cat > end.json'),
    Never: on('true'),
  }
  const settings = JSON.stringify({ hooks })
  const flags = ['-p', 'write', '--script', script, '--settings', settings, '--permission-mode', 'acceptEdits']
  const { stdout, stderr, status } = await run([...flags, ...stream], { cwd })
  expect([status, stderr]).toEqual([0, expect.stringContaining('unknown setting hooks.Never')])
  // Lines of the stream have these fields.
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string | number | undefined>)
  const hookEvents = lines.map(({ type, subtype, hook_name: name, exit_code: code, outcome }) =>
    [type, subtype, name, code, outcome].flatMap((part) => (part === undefined ? [] : [String(part)])).join(' '),
  )
  expect(hookEvents).toEqual([
    'system init',
    'system hook_started SessionStart:startup',
    'system hook_response SessionStart:startup 0 success',
    'user',
    'assistant',
    'assistant',
    'system hook_started PreToolUse:Write',
    'system hook_response PreToolUse:Write 0 success',
    'system hook_started PostToolUse:Write',
    'system hook_response PostToolUse:Write 2 error',
    'user',
    'user',
    'assistant',
    'system hook_started Stop',
    'system hook_response Stop 0 success',
    'result success',
  ])
  expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(lines.length)
  const given = JSON.parse(readFileSync(join(cwd, 'pre.json'), 'utf8')) as Record<string, unknown>
  expect(given).toMatchObject({
    permission_mode: 'acceptEdits',
    cwd,
    tool_name: 'Write',
    hook_event_name: 'PreToolUse',
  })
  expect(existsSync(String(given['transcript_path']))).toBe(true)
  expect(JSON.parse(readFileSync(join(cwd, 'end.json'), 'utf8'))).toMatchObject({ reason: 'other' })
})

test('runs hooks without emitting them unless --include-hook-events is given', async () => {
  const { cwd, script } = folder([done])
  const settings = JSON.stringify({ hooks: { Stop: on('touch ran') } })
  const { stdout } = await run(['-p', 'hi', '--script', script, '--settings', settings, ...stream.slice(0, 3)], { cwd })
  expect([stdout.includes('hook_'), existsSync(join(cwd, 'ran'))]).toEqual([false, true])
})

test('never runs hooks of an untrusted folder', async () => {
  const { cwd, script } = folder([done])
  mkdirSync(join(cwd, '.claude'))
  for (const name of ['settings.json', 'settings.local.json'])
    writeFileSync(join(cwd, '.claude', name), JSON.stringify({ hooks: { SessionStart: on('touch ran') } }))
  const { status } = await run(['-p', 'hi', '--script', script], { cwd })
  expect([status, existsSync(join(cwd, 'ran'))]).toEqual([0, false])
})

test('reports figures of the run, or of the whole session for events without a run (R-LIM-50, R-LIM-51)', async () => {
  const { cwd, script } = folder([write, done])
  const hooks = {
    SessionStart: on('cat > start.json'),
    PostToolBatch: on('cat > batch.json'),
    SessionEnd: on('cat > end.json'),
  }
  const settings = JSON.stringify({ hooks })
  const flags = [
    '--script',
    script,
    '--settings',
    settings,
    '--permission-mode',
    'acceptEdits',
    '--max-budget-usd',
    '1',
  ]
  const figures = (name: string) =>
    (JSON.parse(readFileSync(join(cwd, name), 'utf8')) as { readonly figures: HookFigures }).figures
  const once = async (...more: readonly string[]) => {
    const { stdout } = await run(['-p', 'write', ...flags, '--max-turns', '7', ...more, '--output-format', 'json'], {
      cwd,
    })
    return JSON.parse(stdout) as { readonly session_id: string; readonly total_cost_usd: number }
  }
  const first = await once()
  expect(figures('start.json')).toMatchObject({ turns: 0, toolCalls: 0, usd: 0, left: { usd: 1 } })
  expect(figures('batch.json')).toMatchObject({ toolCalls: 1, left: { usd: expect.any(Number) as unknown } })
  expect(figures('batch.json').left.turns).toBeGreaterThan(4)
  const end = figures('end.json')
  expect(end).toMatchObject({ turns: 2, toolCalls: 1 })
  expect(end.usd).toBeCloseTo(first.total_cost_usd, 9)
  const second = await once('--resume', first.session_id)
  expect(figures('start.json')).toMatchObject({ turns: 2, toolCalls: 1, tokens: end.tokens, usd: end.usd })
  expect(figures('end.json')).toMatchObject({ turns: 4, toolCalls: 2 })
  expect(figures('end.json').usd).toBeCloseTo(second.total_cost_usd, 9)
  expect(figures('end.json').left.usd).toBeCloseTo(1 - second.total_cost_usd, 9)
})

test('ends the program although a hook blocks up to the cap and a SessionEnd hook hangs', async () => {
  const { cwd, script } = folder(Array.from({ length: 9 }, () => done))
  const settings = JSON.stringify({
    hooks: { Stop: on('echo x >> stops; echo more >&2; exit 2'), SessionEnd: on('sleep 60') },
  })
  const begun = performance.now()
  const { status } = await run(['-p', 'hi', '--script', script, '--settings', settings], {
    cwd,
    env: { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '2' },
  })
  expect([status, readFileSync(join(cwd, 'stops'), 'utf8'), performance.now() - begun < 25_000]).toEqual([
    4,
    'x\nx\nx\n',
    true,
  ])
})

test('reports a call that a hook leaves open, which waits for the user', async () => {
  const { cwd, script } = folder([write, done])
  const decision = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } }
  const settings = JSON.stringify({
    hooks: { PreToolUse: on(`echo '${JSON.stringify(decision)}'`), Notification: on('cat > note.json') },
  })
  const flags = ['-p', 'write', '--script', script, '--settings', settings, '--permission-mode', 'acceptEdits']
  const { status } = await run(flags, { cwd })
  expect([status, existsSync(join(cwd, 'a.txt'))]).toEqual([5, false])
  expect(JSON.parse(readFileSync(join(cwd, 'note.json'), 'utf8'))).toMatchObject({
    hook_event_name: 'Notification',
    notification_type: 'permission_prompt',
    message: 'halting needs your permission to use Write: A hook deferred the decision about this call.',
  })
})

const tokens = { input_tokens: 500, output_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const said = (text: string) => ({ content: text, usage: tokens })
const promptHook = (prompt: string) => [{ hooks: [{ type: 'prompt', prompt }] }]

test('runs prompt hooks under a budget, and includes their cost in the figures and in why', async () => {
  const replies = [{ ...write, usage: tokens }, said('{"ok": true}'), said('Done.'), said('{"ok": false, "reason": "no tests"}'), said('Tested.'), said('{"ok": true}')] // prettier-ignore
  const { cwd, script } = folder(replies)
  const settings = JSON.stringify({ hooks: { PreToolUse: promptHook('May it?'), Stop: promptHook('Is it done?') } })
  const flags = ['-p', 'write', '--script', script, '--settings', settings, '--permission-mode', 'acceptEdits', '--max-budget-usd', '1'] // prettier-ignore
  const { stdout, stderr, status } = await run([...flags, '--output-format', 'json'], { cwd })
  expect([status, stderr]).toEqual([0, ''])
  const result = JSON.parse(stdout) as { readonly [field: string]: unknown }
  // Six replies of 500 and 100 tokens, at $1 and $5 a million.
  expect(result).toMatchObject({ result: 'Tested.', num_turns: 3, usage: { input_tokens: 1_500 } })
  expect(result['total_cost_usd']).toBeCloseTo(6 * 0.001, 9)
  expect(existsSync(join(cwd, 'a.txt'))).toBe(true)
  const why = await run(['why', String(result['session_id']), '--json'], { cwd })
  const { runs } = JSON.parse(why.stdout) as { readonly runs: readonly { readonly phases: readonly object[] }[] }
  expect(runs.flatMap(({ phases }) => phases)).toContainEqual(
    expect.objectContaining({ phase: 'hooks', requests: 3, tokens: 1_800 }),
  )
})

test('lets a prompt hook decide nothing if the budget does not allow its request, and says so', async () => {
  const { cwd, script } = folder([{ ...write, usage: tokens }, said('Done.')])
  const settings = JSON.stringify({ hooks: { PreToolUse: promptHook('x'.repeat(60_000)) } })
  const flags = ['-p', 'write', '--script', script, '--settings', settings, '--permission-mode', 'acceptEdits', '--max-budget-usd', '0.09'] // prettier-ignore
  const { stdout, status } = await run([...flags, ...stream], { cwd })
  expect([status, JSON.parse(stdout.trim().split('\n').at(-1) ?? '')]).toMatchObject([0, { result: 'Done.', total_cost_usd: 0.002 }]) // prettier-ignore
  expect(stdout).toContain(
    'A PreToolUse hook failed (prompt): not started: the budget does not allow asking the model.',
  )
  expect(existsSync(join(cwd, 'a.txt'))).toBe(true)
})

test('prints messages of hooks and failed hooks to stderr, also in text mode', async () => {
  const { cwd, script } = folder([write, done])
  const hooks = {
    PreToolUse: on('echo no log >&2; exit 1', 'Write'),
    PostToolUse: on(`echo '{"systemMessage":"written\\u001b[2J"}'`, 'Write'),
    Stop: on('exit 3'),
  }
  const flags = ['--script', script, '--permission-mode', 'acceptEdits', '--settings', JSON.stringify({ hooks })]
  const { stdout, stderr } = await run(['-p', 'write', ...flags], { cwd })
  expect(stdout).toBe('Done.\n')
  expect(stderr.split('\n').filter((line) => line.startsWith('!'))).toEqual([
    '! A PreToolUse hook failed (echo no log >&2; exit 1): exit code 1: no log.',
    '! written',
    '! A Stop hook failed (exit 3): exit code 3.',
  ])
  const { stderr: all } = await run(['-p', 'write', ...flags, '--verbose'], { cwd })
  expect(all.match(/hook failed/g)).toHaveLength(2)
})

test.each([
  ['UserPromptSubmit', 'echo a secret >&2; exit 2', 'A hook blocked the prompt: a secret'],
  ['PreToolUse', `echo '{"continue":false,"stopReason":"enough"}'`, 'enough'],
])('says in text mode why %s ended the run', async (event, command, why) => {
  const { cwd, script } = folder([write, done])
  const settings = JSON.stringify({ hooks: { [event]: on(command) } })
  const { stdout, stderr, status } = await run(['-p', 'write', '--script', script, '--settings', settings], { cwd })
  expect([status, stdout, stderr]).toEqual([0, expect.any(String), expect.stringContaining(`halting: ${why}\n`)])
})
