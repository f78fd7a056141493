// Holds rules of docs/spec: R-FOR-1, R-FOR-3 to R-FOR-9.
import { copyFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { priceFlags } from '../src/foreign/session-prices.ts'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const sample = (name: string): string =>
  fileURLToPath(new URL(`../../analysis/test/foreign/samples/${name}.jsonl`, import.meta.url))
const polling = '155c6d30-c71f-4440-a083-22ef29be548c'
const codex = '01a1ffd1-a059-7390-995c-054692f499d6'
const ours = 'aaaaaaaa-0000-4000-8000-000000000001'

function put(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

/** A sample as if it had been recorded in the folder of the test. */
const inPlace = (name: string): string =>
  readFileSync(sample(name), 'utf8').replaceAll('/home/user/project', realpathSync(here()))

const claudeFile = (): string => join(here(), '.claude', 'projects', '-p', `${polling}.jsonl`)

beforeAll(async () => {
  put(claudeFile(), inPlace('claude-code-polling'))
  put(
    join(here(), '.codex', 'sessions', '2026', '11', '21', `rollout-2026-11-21T20-34-50-${codex}.jsonl`),
    inPlace('codex-rollout-0'),
  )
  await storeSession(ours, [toolReply(['Read', { file_path: 'a' }]), textReply('done')])
})

/** Only sessions of halting use the machine's times. */
const timeless = (text: string): string => text.replaceAll(/\d+\s(?:ms)|\d+\.\d\ss/g, 'TIME')

test('what-if reports the expected result for a session of Claude Code', async () => {
  const { status, stdout, stderr } = await run(['what-if', sample('claude-code-polling'), '--max-turns', '10'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toBe(
    [
      '155c6d30 run1 of Claude Code',
      '  Would have stopped after 10 turns: max_turns (10 of 10).',
      '  Saves 6 turns, 720 tokens, $0.0036, 171 ms.',
      '  Loses 5 calls of Bash, the answer.',
      '',
      'Claude Code counted $0.0096, the same as computed here.',
      '',
    ].join('\n'),
  )
  const circles = await run(['what-if', sample('claude-code-polling'), '--no-progress'])
  expect(circles.stdout).toContain('No change: completed after 16 turns.')
})

test('says that dollars stop no run without a price', async () => {
  const { stdout } = await run(['what-if', sample('codex-rollout-0'), '--max-budget-usd', '1'])
  expect(stdout).toBe(
    [
      '01a1ffd1 run1 of Codex',
      '  Unknown: no price is known for gpt-fake.',
      '',
      'No price is known for gpt-fake, so its cost is not included. Set a price with modelPrices in your',
      'settings.',
      '',
    ].join('\n'),
  )
})

test('repeats only the prices of inline settings', () => {
  const price = { input: 1, output: 2 }
  const models = { mine: { package: 'p', model: 'm', options: { apiKey: 'secret' }, price } }
  const settings = JSON.stringify({ aiSdk: { models }, modelPrices: { other: price } })
  const [flag, written = ''] = priceFlags({ settings }, { cwd: '/' })
  expect([flag, JSON.parse(written)]).toEqual(['--settings', { modelPrices: { mine: price, other: price } }])
})

test('uses a price from the settings', async () => {
  const settings = JSON.stringify({ modelPrices: { 'gpt-fake': { input: 1, output: 10 } } })
  const { stdout } = await run(['why', sample('codex-rollout-0'), '--settings', settings, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    program: 'codex',
    unpriced: [[]],
    runs: [{ totals: { costUsd: 0.00007 } }],
  })
})

test('reads the default folders for --claude-code and --codex; folders can be mixed', async () => {
  const places = await run(['what-if', '--claude-code', '--codex', ours, '--max-turns', '1'])
  expect(places.stdout).toContain(
    '3 runs (1 of this program, 1 of Claude Code, 1 of Codex): 2 would have stopped, 1 the same',
  )
  const folder = join(here(), 'mixed')
  copyFileSync(sessionPath(ours), put(join(folder, 'ours.jsonl'), ''))
  for (let index = 0; index < 9; index++)
    put(
      join(folder, 'below', `${index}.jsonl`),
      readFileSync(sample('claude-code-short'), 'utf8')
        .replaceAll('uuid":"', `uuid":"${index}`)
        .replaceAll('Uuid":"', `Uuid":"${index}`),
    )
  put(join(folder, 'other.jsonl'), '{"no":"session"}\n')
  const { stdout } = await run(['what-if', 'mixed', '--max-turns', '1'])
  expect(timeless(stdout).split('\n').slice(0, 3)).toEqual([
    'session   run   by       turns     cost  with these limits',
    'aaaaaaaa  run1  halting      2    $2.20  max_turns after 1, saves $1.10, loses the answer',
    'fe91754d  run1  claude       2  $0.0010  max_turns after 1, saves $0.0000, loses the answer',
  ])
  expect(stdout).toContain('10 runs (1 of this program, 9 of Claude Code): 10 would have stopped')
  expect(stdout).toContain('Not read: 1 file.')
  expect(stdout).toContain('Claude Code counted $0.0094 for 9 sessions, the same as computed here.')
  const suggested = await run(['what-if', '--claude-code', '--suggest'])
  expect(suggested.stdout).toContain('No limit would have saved anything in 1 run without losing something.')
  const none = await run(['what-if', '--codex', '--suggest'], { env: { CODEX_HOME: join(here(), 'nowhere') } })
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('No sessions of Codex found in') })
  expect((await run(['why', '--codex'])).stderr).toContain(
    '--codex belongs to halting what-if, report, inspect and grade.',
  )
})

test('explains in halting why what is known, and says that the reason is inferred', async () => {
  const { status, stdout } = await run(['why', '155c6'])
  expect(status).toBe(0)
  expect(stdout.split('\n').slice(0, 13)).toEqual([
    expect.stringContaining(`Session ${polling}, run1, in`),
    expect.anything(),
    '',
    'completed: the model answered without calling a tool (inferred: Claude Code',
    'records no reason)',
    'Claude Code recorded this session. It does not record limits or why a run ended,',
    'so the ending is inferred. Times are the differences between the timestamps of',
    'two lines.',
    'Claude Code counted $0.0096, the same as computed here.',
    '',
    '16 turns, 16 requests, 1,920 tokens, $0.0096, 635 ms.',
    '',
    'Time',
  ])
  expect(stdout).toContain('15 calls, 294 ms, 135 characters of results')
  expect(stdout).toContain(`halting -p --resume ${polling} Continue.`)
  expect(stdout).not.toContain('no limit\n')
})

test('lists steps with replay, line by line', async () => {
  const { stdout } = await run(['replay', sample('claude-code-short')])
  expect(stdout).toContain('run run1: hi')
  expect(stdout).toContain('call: test-tool {"value":"Sparkle Day"}')
  expect(stdout).toContain('ended: completed')
})

const script = (): string =>
  put(
    join(here(), 'script.json'),
    JSON.stringify({ replies: [{ content: [{ type: 'text', text: 'It was ready.' }] }] }),
  )

test('--resume continues with a copy, or with the copy that exists already', async () => {
  const before = readFileSync(claudeFile())
  const flags = ['--script', script(), '--output-format', 'json']
  const first = await run(['-p', 'What was it?', '--resume', '155c6d30', ...flags])
  expect(first.stderr).toContain(
    `halting: continuing a session of Claude Code as session ${polling} (${claudeFile()} is not changed)`,
  )
  expect(JSON.parse(first.stdout)).toMatchObject({ result: 'It was ready.', session_id: polling, is_error: false })
  const again = await run(['-p', 'And now?', '--resume', polling, ...flags])
  expect(again).toMatchObject({ status: 0, stderr: '' })
  expect(readFileSync(claudeFile())).toEqual(before)
  const shown = await run(['sessions', 'show', '155c6d30'])
  for (const text of ['do the work', 'ready', 'What was it?', 'And now?']) expect(shown.stdout).toContain(text)
})

test('--fork-session gives the copy another ID; also continues a session of Codex', async () => {
  const id = 'cccccccc-0000-4000-8000-000000000003'
  const flags = ['--script', script(), '--output-format', 'json']
  const forked = await run(['-p', 'x', '--resume', codex, '--fork-session', '--session-id', id, ...flags])
  expect(JSON.parse(forked.stdout)).toMatchObject({ session_id: id, is_error: false })
  expect(forked.stderr).toContain('continuing a session of Codex')
})

test('without a prompt, says what is needed and stores nothing; refuses another folder', async () => {
  const id = 'dddddddd-0000-4000-8000-000000000004'
  const answered = inPlace('claude-code-short').replaceAll('fe91754d-8bd4-4477-83a5-c9226c6e6ac5', id)
  put(join(here(), '.claude', 'projects', '-p', `${id}.jsonl`), answered)
  const { status, stderr } = await run(['-p', '--resume', id, '--script', script()])
  expect(status).toBe(2)
  expect(stderr).toContain('cannot continue without a prompt')
  expect(() => readFileSync(sessionPath(id))).toThrow('ENOENT')
  const other = 'eeeeeeee-0000-4000-8000-000000000005'
  put(join(here(), '.claude', 'projects', '-q', `${other}.jsonl`), readFileSync(sample('claude-code-short'), 'utf8'))
  const elsewhere = await run(['-p', 'x', '--resume', other, '--script', script()])
  expect(elsewhere.status).toBe(2)
  expect(elsewhere.stderr).toContain(
    `The session ${other} belongs to the folder /home/user/project. Resume it there: cd /home/user/project && halting --resume ${other}`,
  )
})
