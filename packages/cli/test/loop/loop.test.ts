// Holds R-EVERY-1 to R-EVERY-14 with the real program: bounds, goals, kills, Ctrl-C and output.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  linesOf,
  projectName,
  run,
  script,
  start,
} from '../support/program.ts'

installProgram()

const replies = (count: number) =>
  script(Array.from({ length: count }, (_, index) => ({ content: `Answer ${index + 1}.` })))
const loop = (...args: readonly string[]) => ['loop', ...args]

/** The recorded prompts of the rounds of a session. */
function roundsOnRecord(sessionId: string): readonly string[] {
  const text = readFileSync(join(here(), '.halting/projects', projectName(here()), `${sessionId}.jsonl`), 'utf8')
  return [
    ...new Set(
      [...text.matchAll(/"inboxId":"(loop:[\da-f]+:\d+)"/g)].map(([, id = '']) => id.replace(/^loop:[^:]+:/, '')),
    ),
  ]
}

const sessionId = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

test('repeats the prompt in one session, and ends when the rounds are done', async () => {
  const { status, stdout, stderr } = await run(
    loop('Check.', '--every', '50ms', '--rounds', '3', '--session-id', sessionId(1), '--script', replies(3)),
  )
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Answer 1.\nAnswer 2.\nAnswer 3.\n' })
  expect(stderr).toMatch(/^round 1 of 3 · completed · \$0\.0000 · next at (?:\d\d:\d\d:\d\d|once)\n/)
  expect(stderr).toMatch(
    /round 3 of 3 · completed · \$0\.0000\nhalting: loop: 3 of 3 rounds done · 3 rounds · \$0\.0000\n$/,
  )
  expect(roundsOnRecord(sessionId(1))).toEqual(['1', '2', '3'])
})

test('does not start without a bound, or in a session that does not exist', async () => {
  const unbound = await run(loop('x', '--every', '1s', '--script', replies(1)))
  expect([unbound.status, unbound.stdout]).toEqual([2, ''])
  expect(unbound.stderr).toContain('--rounds N, --for TIME, --max-budget-usd X or --until CMD')
  const nowhere = await run(loop('--resume', sessionId(99)))
  expect([nowhere.status, nowhere.stderr]).toEqual([2, expect.stringContaining('No conversation found')])
})

test('reads the prompt from stdin, uses a budget of the settings as a bound, and ends with it', async () => {
  mkdirSync(join(here(), '.halting'), { recursive: true })
  const settings = JSON.stringify({ limits: { maxBudgetUsd: 0.02 } })
  const priced = script(
    Array.from({ length: 9 }, () => ({ content: 'Checked.' })),
    'claude-sonnet-4-5',
  )
  const { status, stderr } = await run(loop('--every', '0', '--settings', settings, '--script', priced), {
    stdin: 'Check.',
  })
  expect(status).toBe(3)
  expect(stderr).toMatch(/halting: loop: The budget of the session is used up · \d+ rounds? · \$0\.0\d+\n/)
})

test('ends as done after the round that meets the goal', async () => {
  const write = { content: [call('Bash', { command: 'touch done-1' })] }
  const answers = script([{ content: 'Not yet.' }, { content: 'Still not.' }, write, { content: 'Now.' }])
  const flags = ['--until', 'test -e done-1', '--until-tries', '1', '--allowedTools', 'Bash']
  const { status, stderr } = await run(loop('Check.', '--every', '0', '--rounds', '5', ...flags, '--script', answers))
  expect(stderr).toContain('round 1 of 5 · goal_unmet')
  expect(stderr).toMatch(/halting: loop: The goal is met · 2 rounds/)
  expect(status).toBe(0)
})

test('ends with 6 if the rounds are done and the goal is not met', async () => {
  const flags = ['--until', 'test -e never', '--until-tries', '1', '--output-format', 'json']
  const { status, stdout } = await run(
    loop('Check.', '--every', '0', '--rounds', '2', ...flags, '--script', replies(8)),
  )
  expect(status).toBe(6)
  expect(JSON.parse(stdout)).toMatchObject({
    type: 'result',
    is_error: true,
    terminal_reason: 'goal_unmet',
    rounds: [
      { round: 1, reason: 'goal_unmet', goalMet: false },
      { round: 2, reason: 'goal_unmet', goalMet: false },
    ],
    ended: { because: 'rounds', exitCode: 6 },
  })
})

test('makes no request if the goal is met before a later round, even after a kill in between', async () => {
  const format = ['--output-format', 'stream-json', '--verbose']
  const own = ['--every', '1h', '--rounds', '5', '--until', 'test -e outside', '--until-tries', '1']
  const first = start(loop('Check.', ...own, ...format, '--session-id', sessionId(7), '--script', replies(2)))
  await first.waitForOutput('"subtype":"loop_wait"')
  first.child.kill('SIGKILL')
  await first.ended
  // Somebody else meets the goal during the pause. The goal is on record.
  writeFileSync(join(here(), 'outside'), '')
  const { status, stdout } = await run(
    loop('--resume', sessionId(7), '--every', '0', ...format, '--script', replies(1)),
  )
  const lines = linesOf(stdout)
  expect(status).toBe(0)
  expect(lines.filter(({ type }) => type === 'result').map(({ num_turns }) => num_turns)).toEqual([0, 2])
  expect(lines.at(-1)).toMatchObject({
    type: 'result',
    is_error: false,
    rounds: [
      { round: 1, goalMet: false },
      { round: 2, goalMet: true },
    ],
    ended: { because: 'goal_met' },
  })
})

describe('a loop that was killed', () => {
  test('during a pause continues with the next round', async () => {
    const own = ['--every', '1h', '--rounds', '2', '--session-id', sessionId(2)]
    const first = start(loop('Check.', ...own, '--script', replies(1)))
    await first.waitForOutput('next at')
    first.child.kill('SIGKILL')
    await first.ended
    const { status, stdout, stderr } = await run(loop('--continue', '--every', '0', '--script', replies(1)))
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Answer 1.\n' })
    expect(stderr).toMatch(/round 2 of 2 · completed/)
    expect(stderr).toMatch(/2 of 2 rounds done · 2 rounds/)
    expect(roundsOnRecord(sessionId(2))).toEqual(['1', '2'])
  })

  test('during a round continues that round, and counts it once', async () => {
    const file = join(here(), 'in-round')
    const command = `echo begun > ${file}; sleep 300`
    const first = start(
      loop(
        'Check.',
        '--every',
        '0',
        '--rounds',
        '2',
        '--session-id',
        sessionId(3),
        '--allowedTools',
        'Bash',
        '--script',
        script([{ content: [call('Bash', { command })] }]),
      ),
    )
    await waitForFileText(file)
    first.child.kill('SIGKILL')
    await first.ended
    const { status, stdout } = await run(
      loop('--resume', sessionId(3), '--output-format', 'json', '--script', replies(3)),
    )
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rounds: [{ round: 1 }, { round: 2 }], ended: { because: 'rounds' } })
    expect(roundsOnRecord(sessionId(3))).toEqual(['1', '2'])
  })

  test('after its last round does nothing when it is continued', async () => {
    const { status, stderr } = await run(loop('--resume', sessionId(3), '--script', replies(1)))
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('2 of 2 rounds done') })
    const more = await run(loop('--resume', sessionId(3), 'Check.', '--rounds', '3', '--script', replies(1)))
    expect([more.status, more.stdout]).toEqual([0, 'Answer 1.\n'])
    expect(roundsOnRecord(sessionId(3))).toEqual(['1', '2', '3'])
  })
})

test('starts a separate loop for another prompt in the same session', async () => {
  const { status, stdout } = await run(
    loop('--resume', sessionId(1), 'Something else.', '--every', '0', '--rounds', '2', '--script', replies(2)),
  )
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Answer 1.\nAnswer 2.\n' })
})

test('starts a loop in a session without one, with a prompt', async () => {
  await run(['-p', 'Hello.', '--session-id', sessionId(4), '--script', replies(1)])
  const without = await run(loop('--resume', sessionId(4), '--script', replies(1)))
  expect([without.status, without.stderr]).toEqual([2, expect.stringContaining('The session has no loop to continue')])
  const { status } = await run(
    loop('--resume', sessionId(4), 'Check.', '--every', '0', '--rounds', '1', '--script', replies(1)),
  )
  expect(status).toBe(0)
})

test('names a damaged loop file, and runs nothing', async () => {
  const file = join(here(), '.halting/projects', projectName(here()), sessionId(4), 'loop.json')
  expect(existsSync(file)).toBe(true)
  writeFileSync(file, '{"id":"x"')
  const { status, stderr } = await run(loop('--resume', sessionId(4), '--script', replies(1)))
  expect([status, stderr]).toEqual([2, expect.stringContaining('Delete the file and start the loop again.')])
  rmSync(file)
})

test.each([
  ['a time that no clock shows', { everyMs: 1e300 }, {}],
  ['part of a round', { rounds: 1.5 }, {}],
  ['no round', { rounds: 0 }, {}],
  ['a start that no clock shows', {}, { startedAtMs: 9e15 }],
  ['a budget of nothing', { maxBudgetUsd: 0 }, {}],
  ['a bound that there is not', { minutes: 5 }, {}],
])('reports a recorded loop with %s as damaged', async (_what, terms, others) => {
  const file = join(here(), '.halting/projects', projectName(here()), sessionId(4), 'loop.json')
  const kept = { id: 'a1', startedAtMs: 1, terms: { prompt: 'Check.', everyMs: 0, rounds: 1, ...terms }, ...others }
  writeFileSync(file, JSON.stringify(kept))
  const { status, stderr } = await run(loop('--resume', sessionId(4), '--rounds', '1', '--script', replies(1)))
  expect([status, stderr]).toEqual([2, expect.stringContaining('Delete the file and start the loop again.')])
  rmSync(file)
})

test('reports something that is not a file in its place, and does not block', async () => {
  const file = join(here(), '.halting/projects', projectName(here()), sessionId(4), 'loop.json')
  execFileSync('mkfifo', [file])
  const { status, stderr } = await run(loop('--resume', sessionId(4), '--script', replies(1)))
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/Cannot read the loop of this session from \/.*loop\.json: it is not a regular file\.\n$/),
  ])
  rmSync(file)
})

test('ends the loop at a round that waits for an approval, and continues with the answer', async () => {
  const id = sessionId(6)
  const touches = script([{ content: [call('Bash', { command: 'touch approved' })] }])
  const own = ['--every', '0', '--rounds', '2', '--on-ask', 'defer', '--session-id', id]
  const waiting = await run(loop('Check.', ...own, '--script', touches))
  expect([waiting.status, waiting.stderr]).toEqual([5, expect.stringContaining(`halting approve ${id} toolu_`)])
  expect(waiting.stderr).not.toContain('halting -p')
  const unanswered = await run(loop('--resume', id, '--script', replies(1)))
  expect([unanswered.status, unanswered.stderr]).toEqual([2, expect.stringContaining('waits for permission: Bash')])
  const [, callId = ''] = /halting approve \S+ (\S+)/.exec(waiting.stderr) ?? []
  expect((await run(['approve', id, callId])).status).toBe(0)
  const { status, stdout } = await run(loop('--resume', id, '--output-format', 'json', '--script', replies(2)))
  expect([status, existsSync(join(here(), 'approved'))]).toEqual([0, true])
  expect(JSON.parse(stdout)).toMatchObject({
    rounds: [
      { round: 1, reason: 'completed', turns: 2 },
      { round: 2, reason: 'completed', turns: 1 },
    ],
  })
})

test('ends with 130 at Ctrl-C between rounds, and prints the command that continues the loop', async () => {
  const running = start(
    loop('Check.', '--every', '1h', '--rounds', '5', '--session-id', sessionId(5), '--script', replies(1)),
  )
  await running.waitForOutput('next at')
  // No other process can write the session meanwhile.
  const other = await run(loop('--resume', sessionId(5), '--script', replies(1)))
  expect([other.status, other.stdout, other.stderr]).toEqual([2, '', expect.stringContaining('is in use by process')])
  running.child.kill('SIGINT')
  const { status, stderr } = await running.ended
  expect(status).toBe(130)
  expect(stderr).toMatch(
    /halting: loop: Stopped between rounds · 1 round · \$0\.0000\nContinue the loop: halting loop --resume \S+5 --script \S+\n$/,
  )
})

test('ends the round and the loop at Ctrl-C in a round', async () => {
  const file = join(here(), 'cut-round')
  const command = `echo begun > ${file}; sleep 300`
  const answers = script([{ content: [call('Bash', { command })] }, { content: 'never said' }])
  const flags = [
    '--every',
    '0',
    '--rounds',
    '5',
    '--allowedTools',
    'Bash',
    '--output-format',
    'stream-json',
    '--verbose',
  ]
  const running = start(loop('Check.', ...flags, '--script', answers))
  await waitForFileText(file)
  running.child.kill('SIGINT')
  const { status, stdout } = await running.ended
  expect(status).toBe(130)
  expect(linesOf(stdout).at(-1)).toMatchObject({
    type: 'result',
    is_error: true,
    rounds: [{ round: 1, reason: 'aborted_tools' }],
    ended: { because: 'interrupted', exitCode: 130 },
  })
})

test('stores nothing if sessions are not stored', async () => {
  const before = readdirSync(join(here(), '.halting/projects', projectName(here()))).length
  const flags = ['--every', '0', '--rounds', '2', '--no-session-persistence']
  const { status, stdout } = await run(loop('Check.', ...flags, '--script', replies(2)))
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Answer 1.\nAnswer 2.\n' })
  expect(readdirSync(join(here(), '.halting/projects', projectName(here()))).length).toBe(before)
})

test("prints every message as one array with --output-format json --verbose, and the loop's result at the end", async () => {
  const flags = ['--every', '0', '--rounds', '2', '--output-format', 'json', '--verbose']
  const { stdout } = await run(loop('Check.', ...flags, '--script', replies(2)))
  const all = JSON.parse(stdout) as { readonly type: string }[]
  expect(all.map(({ type }) => type)).toEqual([
    'system',
    'assistant',
    'result',
    'system',
    'assistant',
    'result',
    'result',
  ])
})
