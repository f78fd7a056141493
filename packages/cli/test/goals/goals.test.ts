// Spec R-GOAL-62 to R-GOAL-66: goals in the real program, with a scripted model.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  call,
  waitForFileText,
  here,
  installProgram,
  linesOf,
  run,
  script,
  start,
  type Ended,
} from '../support/program.ts'

installProgram()

const npmTest = 'grep -q plus sum.txt || { echo "1 failed"; exit 1; }'

/** A folder with one failing test. */
function project(): string {
  const cwd = mkdtempSync(join(here(), 'goal-'))
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'sums', scripts: { test: 'sh check.sh' } }))
  writeFileSync(join(cwd, 'check.sh'), `${npmTest}\n`)
  writeFileSync(join(cwd, 'sum.txt'), 'minus\n')
  return cwd
}

const write = (file: string, content: string): object => ({ content: [call('Write', { file_path: file, content })] })
const say = (content: string): object => ({ content })
const read = { content: [call('Read', { file_path: 'sum.txt' })] }
const fix = [read, write('sum.txt', 'plus\n')]

interface GoalRun {
  readonly cwd?: string
  readonly until?: readonly string[]
}

function pursue(replies: readonly object[], args: readonly string[], { cwd, until = ['sh check.sh'] }: GoalRun = {}) {
  const goals = until.flatMap((command) => ['--until', command])
  const all = ['-p', 'Make it pass.', '--script', script(replies), '--allowedTools', 'Write,Edit', ...goals, ...args]
  return run(all, { cwd: cwd ?? project() })
}

const resultOf = ({ stdout }: Pick<Ended, 'stdout'>): object => linesOf(stdout).at(-1) ?? {}
/** Lines without figures, which differ from run to run. */
const reportedLines = ({ stderr }: Pick<Ended, 'stderr'>): readonly string[] =>
  stderr
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\d+ turns?,.*? m?s\b/, 'FIGURES').replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID'))

describe('the goal is met', () => {
  test('when the agent has fixed what is checked: prints a line per round, and the ending', async () => {
    const ended = await pursue([say('I think that it passes.'), ...fix, say('Now it does.')], [])
    expect({ ...ended, stderr: reportedLines(ended) }).toEqual({
      status: 0,
      stdout: 'Now it does.\n',
      stderr: [
        'goal: sh check.sh ✗ (before the run: 1 failed)',
        'goal: sh check.sh ✗ (try 1 of 10: 1 failed)',
        'goal: sh check.sh ✓',
        '✓ done · goal met: sh check.sh · FIGURES · 1 file changed +1 −1',
      ],
    })
  })

  test('by each of several commands, in the given order', async () => {
    const until = ['test -e a.txt', 'test -e b.txt']
    const replies = [write('b.txt', 'x'), say('One.'), write('a.txt', 'x'), say('Both.')]
    const ended = await pursue(replies, ['--output-format', 'json'], { until })
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({
      subtype: 'success',
      result: 'Both.',
      goal: { met: true, tries: 1, baseline: false, checks: [{ name: until[0] }, { name: until[1], exitCode: 0 }] },
    })
  })

  test('from the start: makes no request with --skip-if-met, and otherwise says so in the result', async () => {
    const cwd = project()
    writeFileSync(join(cwd, 'sum.txt'), 'plus\n')
    const skipped = await pursue([say('never said')], ['--skip-if-met', '--output-format', 'json'], { cwd })
    expect(skipped.status).toBe(0)
    expect(resultOf(skipped)).toMatchObject({ num_turns: 0, result: '', goal: { met: true, heldFromStart: true } })
    const asked = await pursue([say('Nothing to do.')], [], { cwd })
    expect(reportedLines(asked)).toEqual([
      'goal: sh check.sh ✓ (already met)',
      '✓ done · goal met: sh check.sh (already met at the start) · FIGURES',
    ])
  })

  test('after a turn, with --stop-when-met: makes no further request', async () => {
    const ended = await pursue([...fix, say('never said')], ['--stop-when-met', '--output-format', 'json'])
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({ num_turns: 2, goal: { met: true } })
  })

  test('as judged by a model from program output, which the line and the result quote', async () => {
    const cwd = project()
    const printed = 'all of the twelve sums are right today'
    writeFileSync(join(cwd, 'check.sh'), `${npmTest}\necho "${printed}"\n`)
    const verdict = JSON.stringify({ met: true, evidence: [printed], missing: '' })
    const replies = [
      ...fix,
      say('Fixed.'),
      { content: [call('Bash', { command: 'sh check.sh' })] },
      say('And checked.'),
      { when: 'may be quoted', content: verdict, repeat: 3 },
    ]
    const args = ['--goal', 'All sums are right.', '--allowedTools', 'Bash(sh check.sh)']
    const ended = await pursue(replies, args, { cwd, until: [] })
    expect({ ...ended, stderr: reportedLines(ended) }).toEqual({
      status: 0,
      stdout: 'And checked.\n',
      stderr: [
        expect.stringContaining('✗ (before the run: Nothing shows that the goal is met'),
        expect.stringContaining('✗ (try 1 of 10: Nothing shows that the goal is met'),
        'goal: All sums are right. ✓',
        '✓ done · goal met: All sums are right. (judged by a model) · FIGURES · 1 file changed +1 −1',
      ],
    })
  })

  test('with changed tests, which are named, and by a flaky check, with the flag against it', async () => {
    const cwd = project()
    writeFileSync(join(cwd, 'sum.test.js'), 'one\n')
    const edit = [{ content: [call('Read', { file_path: 'sum.test.js' })] }, write('sum.test.js', 'two\n')]
    const flaky = 'if [ -e .once ]; then grep -q plus sum.txt; else touch .once; exit 1; fi'
    writeFileSync(join(cwd, 'sum.txt'), 'plus\n')
    const changed = await pursue([...edit, say('Done.')], [], { cwd })
    expect(reportedLines(changed)).toContain('! The agent changed 1 test file: sum.test.js.')
    const ended = await pursue([say('Done.'), say('Done.')], [], { cwd, until: [flaky] })
    expect(ended.status).toBe(0)
    expect(ended.stderr).toContain('! The check is flaky: ')
    expect(ended.stderr).toContain('--until-stable 3')
  })

  test('silently with --quiet, and as one array of messages with --output-format json --verbose', async () => {
    const quiet = await pursue([...fix, say('Done.')], ['--quiet'])
    expect(quiet).toEqual({ status: 0, stdout: 'Done.\n', stderr: '' })
    const { stdout } = await pursue([...fix, say('Done.')], ['--output-format', 'stream-json', '--verbose'])
    const rounds = linesOf(stdout).filter(({ subtype }) => subtype === 'goal_check')
    expect(rounds).toMatchObject([
      { place: 'baseline', met: false, tries: 0, max_tries: 10, checks: [{ tail: '1 failed' }] },
      { place: 'answer', met: true },
    ])
  })
})

describe('the goal is not met', () => {
  test('after the last try: exits with 6, and prints commands for the next step', async () => {
    const cwd = project()
    const replies = [write('a.txt', '1'), say('One.'), write('b.txt', '2'), say('Two.'), say('Three.'), say('Four.')]
    const ended = await pursue(replies, ['--until-tries', '2'], { cwd })
    expect({ ...ended, stderr: reportedLines(ended) }).toEqual({
      status: 6,
      stdout: 'Three.\n',
      stderr: [
        'goal: sh check.sh ✗ (before the run: 1 failed)',
        'goal: sh check.sh ✗ (try 1 of 2: 1 failed)',
        'goal: sh check.sh ✗ (try 2 of 2: 1 failed)',
        'goal: sh check.sh ✗ (after 2 tries: 1 failed)',
        'halting: goal_unmet: The goal is not met after 2 tries: `sh check.sh` failed with exit code 1: 1 failed (FIGURES, 2 files changed +2 −0). Raise --until-tries, or choose another model with --model.',
        'Resume: halting -p --resume ID --until-tries 4',
        'Undo: halting undo ID',
      ],
    })
    // Both commands work as described.
    const [, id = ''] = /--resume (\S+) /.exec(ended.stderr) ?? []
    const more = script([...fix, say('Now.')])
    const goneOn = await run(
      ['-p', '--resume', id, '--until-tries', '4', '--script', more, '--allowedTools', 'Write', '--output-format=json'],
      { cwd },
    )
    expect(goneOn.status).toBe(0)
    expect(resultOf(goneOn)).toMatchObject({ result: 'Now.', goal: { met: true, tries: 2 } })
    expect((await run(['undo', id, '--yes'], { cwd })).status).toBe(0)
  })

  test('while the agent changes the definition of the check, which is named and must be reverted', async () => {
    const cwd = project()
    const cheat = [
      { content: [call('Read', { file_path: 'package.json' })] },
      { content: [call('Edit', { file_path: 'package.json', old_string: 'sh check.sh', new_string: 'true' })] },
    ]
    const ended = await pursue(
      [...cheat, say('It passes.'), say('It does.'), say('It does!')],
      ['--until-tries', '5'],
      {
        cwd,
        until: ['npm test'],
      },
    )
    expect(ended.status).toBe(6)
    expect(ended.stderr).toContain('goal: npm test ✗ (try 1 of 5: changed: package.json (scripts.test))')
    expect(ended.stderr).toContain('Tell the agent in the prompt not to change it')
    expect(ended.stderr).toContain('If you changed it yourself, start a new session, which accepts the change.')
  })

  test('when a limit ends the run: checks once more, and says so in the ending', async () => {
    const ended = await pursue([write('a.txt', '1'), say('never said')], ['--max-turns', '1'])
    expect(ended.status).toBe(3)
    expect(ended.stderr).toContain('goal: sh check.sh ✗ (at the limit: 1 failed)')
    expect(ended.stderr).toContain('(goal not met: sh check.sh, 1 turn')
    const atOnce = { content: [...read.content, call('Write', { file_path: 'sum.txt', content: 'plus\n' })] }
    const met = await pursue([atOnce], ['--max-turns', '1', '--output-format', 'json'])
    expect(met.status).toBe(0)
    expect(resultOf(met)).toMatchObject({ terminal_reason: 'completed', goal: { met: true } })
  })
})

test('after Ctrl-C during a check: repeats the goal in the resume command', async () => {
  const cwd = project()
  const args = ['-p', 'Go.', '--script', script([]), '--until', 'touch began; sleep 300', '--protect', '*.txt']
  const one = start([...args, '--until-timeout', '5m'], { cwd })
  while (!existsSync(join(cwd, 'began'))) await new Promise((resolve) => setTimeout(resolve, 20))
  one.child.kill('SIGINT')
  const { status, stderr } = await one.ended
  expect(status).toBe(130)
  expect(reportedLines({ stderr })).toEqual([
    'goal: touch began; sleep 300: check not finished',
    'halting: aborted_streaming: Interrupted by the user (goal not checked, FIGURES).',
    'Resume: halting -p --resume ID --until "touch began; sleep 300" Continue. --until-timeout 300000ms --protect "*.txt"',
  ])
})

test('with --verbose: prints a rejected answer before the failed check, and its report below', async () => {
  const ended = await pursue([say('It passes.'), ...fix, say('Now.')], ['--verbose'])
  expect(reportedLines(ended).slice(0, 6)).toEqual([
    'goal: sh check.sh ✗ (before the run: 1 failed)',
    '  1 failed',
    expect.stringContaining('This task is done when'),
    'It passes.',
    'goal: sh check.sh ✗ (try 1 of 10: 1 failed)',
    '  1 failed',
  ])
})

describe('before any cost', () => {
  test('refuses a goal that is not a command with exit code 2', async () => {
    const cwd = project()
    const ended = await pursue([say('never said')], [], { cwd, until: ['no-such-program --all'] })
    expect(ended).toMatchObject({ status: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^halting: .*no-such-program was not found/)
  })

  test('refuses a glob that protects nothing with exit code 2', async () => {
    const ended = await pursue([say('never said')], ['--protect', 'no/such/**'])
    expect(ended).toMatchObject({ status: 2, stdout: '' })
    expect(ended.stderr).toContain('no/such/**')
  })

  test.each([
    [['--until-tries', '3'], '--until-tries'],
    [['--until-timeout', '3s'], '--until-timeout'],
    [['--until-stable', '3'], '--until-stable'],
    [['--skip-if-met'], '--skip-if-met'],
    [['--stop-when-met'], '--stop-when-met'],
  ])('refuses %j without a goal', async (args, flag) => {
    const ended = await pursue([say('never said')], args, { until: [] })
    expect(ended).toEqual({
      status: 2,
      stdout: '',
      stderr: `halting: ${flag} needs a goal. Add --until CMD, such as --until "npm test", or --goal TEXT.\n`,
    })
  })

  test('accepts --protect without a goal', async () => {
    expect((await pursue([say('Done.')], ['--protect', 'sum.txt'], { until: [] })).status).toBe(0)
  })
})

describe('a resumed run', () => {
  /** A check that hangs in its second round, until it is killed. */
  const hanging = 'echo x >> rounds; [ $(wc -l < rounds) -ne 2 ] || sleep 300; grep -q plus sum.txt'

  async function killedInCheck(): Promise<{ readonly cwd: string; readonly id: string }> {
    const cwd = project()
    const id = randomUUID()
    const replies = script([say('One.'), say('never said')])
    const args = ['-p', 'Make it pass.', '--script', replies, '--until', hanging, '--session-id', id]
    const one = start(args, { cwd })
    await waitForFileText(join(cwd, 'rounds'))
    while (readFileSync(join(cwd, 'rounds'), 'utf8').length < 4) await new Promise((resolve) => setTimeout(resolve, 20))
    one.child.kill('SIGKILL')
    await one.ended
    return { cwd, id }
  }

  test('keeps its goals and tries after a kill during a check, and checks again', async () => {
    const { cwd, id } = await killedInCheck()
    const more = script([...fix, say('Now.')])
    const args = ['-p', '--resume', id, '--script', more, '--allowedTools', 'Write', '--output-format', 'json']
    const ended = await run(args, { cwd })
    expect(ended.status).toBe(0)
    expect(resultOf(ended)).toMatchObject({
      result: 'Now.',
      goal: { met: true, tries: 1, checks: [{ name: hanging }] },
    })
    // Before the start, the killed one, the same again, and the last.
    expect(readFileSync(join(cwd, 'rounds'), 'utf8')).toBe('x\nx\nx\nx\n')
  })

  test('replaces its goals with --until, and resets the tries, on record', async () => {
    const { cwd, id } = await killedInCheck()
    const more = script([say('Two.'), write('a.txt', 'x'), say('Three.')])
    const args = ['-p', '--resume', id, '--script', more, '--allowedTools', 'Write', '--until', 'test -e a.txt']
    const ended = await run([...args, '--output-format', 'json'], { cwd })
    expect(resultOf(ended)).toMatchObject({
      result: 'Three.',
      goal: { met: true, checks: [{ name: 'test -e a.txt' }] },
    })
    expect(ended.status).toBe(0)
  })

  test('keeps its goals after a call that waited for approval', async () => {
    const cwd = project()
    const id = randomUUID()
    const first = ['-p', 'Go.', '--script', script(fix), '--until', 'sh check.sh', '--on-ask', 'defer']
    const waiting = await run([...first, '--session-id', id], { cwd })
    expect(waiting.status).toBe(5)
    expect(waiting.stderr).toContain('goal not checked')
    const [, approve = ''] = /halting (approve .*)/.exec(waiting.stderr) ?? []
    expect((await run(approve.split(' '), { cwd })).status).toBe(0)
    const more = script([say('Written.')])
    const ended = await run(['-p', '--resume', id, '--script', more, '--output-format', 'json'], { cwd })
    expect(resultOf(ended)).toMatchObject({ result: 'Written.', goal: { met: true } })
  })

  test('keeps its goals instead of those of the settings, even after its tries are used up', async () => {
    const cwd = project()
    const id = randomUUID()
    const settings = ['--settings', '{"until":["test -e other.txt"]}']
    const args = ['--session-id', id, '--until-tries', '1', ...settings]
    expect((await pursue([say('One.'), say('Two.')], args, { cwd })).status).toBe(6)
    const more = script([...fix, say('Now.')])
    const goneOn = ['-p', '--resume', id, '--until-tries', '2', '--script', more, '--allowedTools', 'Write']
    const ended = await run([...goneOn, ...settings, '--output-format', 'json'], { cwd })
    expect(resultOf(ended)).toMatchObject({ result: 'Now.', goal: { met: true, checks: [{ name: 'sh check.sh' }] } })
  })

  test('keeps its goals in a copy of its session', async () => {
    const { cwd, id } = await killedInCheck()
    const more = script([...fix, say('Now.')])
    const args = ['-p', '--resume', id, '--fork-session', '--script', more, '--allowedTools', 'Write']
    const ended = await run([...args, '--output-format', 'json'], { cwd })
    expect(ended.status).toBe(0)
    expect(readFileSync(join(cwd, 'rounds'), 'utf8')).toBe('x\nx\nx\nx\n')
    expect(resultOf(ended)).toMatchObject({ goal: { met: true, checks: [{ name: hanging }] } })
  })
})
