// Holds R-GOAL-82 and R-GOAL-83: what commands about finished sessions report of goals.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Goal, GoalVerdict } from '@halting/core'
import { columnsOf } from '../../src/io/columns.ts'
import { call, waitForFileText, here, installProgram, run, script, start } from '../support/program.ts'
import { toolReply, storeSession, textReply } from '../support/store-session.ts'

installProgram()

let count = 0
const newId = (): string => `aaaaaaaa-0000-4000-8000-${String(++count).padStart(12, '0')}`

/** A goal whose checks have these results, in order; the last one repeats. */
function goalOf(...verdicts: readonly GoalVerdict[]): Goal {
  let checks = 0
  return { name: "npm test -- 'a b'", check: () => verdicts[Math.min(checks++, verdicts.length - 1)] ?? { met: true } }
}

const failed = (report: string): GoalVerdict => ({ met: false, exitCode: 1, report })
const edit = toolReply(['Edit', { file_path: 'a.ts' }])

test('why reports the goal: the tries, the failed check with its last lines, and what to do', async () => {
  const id = newId()
  const report = `${'x'.repeat(400)}\n\u001B[31m2 tests failed\u001B[0m`
  const { reason } = await storeSession(id, [edit, textReply('a'), edit, textReply('b')], {
    until: [goalOf(failed('1'), failed(report))],
    maxGoalTries: 1,
  })
  expect(reason).toBe('goal_unmet')
  const { status, stdout } = await run(['why', id])
  expect(status).toBe(0)
  expect(stdout).toContain('goal_unmet: The goal is not met after 1 try')
  const [, section = ''] = stdout.split('\nGoal\n')
  expect(section).toContain("  `npm test -- 'a b'`\n  Not met after 1 of 1 try; it was not met at the start.")
  expect(section).toContain('failed with exit code 1.')
  expect(section).toContain('2 tests failed')
  expect(stdout).not.toContain('\u001B')
  expect(stdout).toMatch(/goal tries +.* 1 of 1/)
  expect(stdout).toContain('sent the answer back: the goal is not met: once (1 of 1 allowed)')
  expect(stdout).toContain(
    'Raise --until-tries, or choose another model with --model. halting undo reverts\nwhat it changed.',
  )
  expect(stdout).toContain(`halting -p --resume ${id} --until-tries 2`)
  expect(stdout.split('\n').filter((line) => columnsOf(line) > 80 && !line.startsWith('  halting '))).toEqual([])
})

test('why says that more tries do not help if nothing changed', async () => {
  const id = newId()
  await storeSession(id, [textReply('a'), textReply('b'), textReply('c')], { until: [goalOf(failed('1'))] })
  const { stdout } = await run(['why', id])
  expect(stdout).toContain('and nothing changes')
  expect(stdout).toContain('Nothing changed between the tries: suggest another approach in the prompt')
  expect(stdout).toContain(`--until "npm test -- 'a b'" "Try a different approach."`)
})

test('why reports a goal that was met from the start, and one that was reached, also as JSON', async () => {
  const held = newId()
  await storeSession(held, [textReply('a')], { until: [goalOf({ met: true, exitCode: 0 })] })
  expect((await run(['why', held])).stdout).toContain('Already met at the start; the run may not have caused it.')
  const reached = newId()
  await storeSession(reached, [edit, textReply('a')], { until: [goalOf(failed('1'), { met: true, exitCode: 0 })] })
  const { stdout } = await run(['why', reached, '--json'])
  // The output of the program with --json.
  const { runs } = JSON.parse(stdout) as { readonly runs: readonly { readonly goal: object }[] }
  expect(runs[0]?.goal).toMatchObject({ met: true, baseline: false, tries: 0, rounds: { made: 2, failed: 1 } })
})

test('replay lists the rounds of checks, and the iteration of a rejected answer', async () => {
  const id = newId()
  await storeSession(id, [edit, textReply('a'), edit, textReply('b')], {
    until: [goalOf(failed('1'), failed('2'), { met: true, exitCode: 0 })],
  })
  const { stdout } = await run(['replay', id])
  expect(stdout).toContain('goal: Check before the first request: not met')
  expect(stdout).toContain('iteration: sent the answer back: the goal is not met')
  expect(stdout).toMatch(/goal: Check of the answer: met, \d+ ms/)
})

test('what-if says where fewer tries would have ended a run, and that more are unknown', async () => {
  const id = newId()
  const script = [edit, textReply('a'), edit, textReply('b'), edit, textReply('c')]
  await storeSession(id, script, {
    until: [goalOf(failed('1'), failed('2'), failed('three'), failed('IV'))],
    maxGoalTries: 2,
  })
  const whatIf = async (...flags: readonly string[]): Promise<string> => (await run(['what-if', id, ...flags])).stdout
  expect(await whatIf('--until-tries', '1')).toContain('Would have stopped after 4 turns: goal_unmet (1 of 1).')
  expect(await whatIf('--until-tries', '2')).toContain('No change: goal_unmet after 6 turns.')
  expect(await whatIf('--until-tries', '3')).toContain('Unknown: the record ends after 6 turns')
  const { stderr } = await run(['what-if', id])
  expect(stderr).toContain('--until-tries')
})

test('report counts the goals of all runs, in text, as JSON and as a page', async () => {
  const { stdout } = await run(['report'])
  expect(stdout).toMatch(/\nGoals\n {2}\d+ runs had goals: \d+ met \(1 held from the start\), \d+ not met\./)
  const { goals } = JSON.parse((await run(['report', '--json'])).stdout) as {
    readonly goals: { readonly runs: number }
  }
  expect(stdout).toContain(`${goals.runs} runs had goals`)
  const byModel = await run(['report', '--by', 'model'])
  expect(byModel.stdout).toContain('by model')
  expect(byModel.stdout).toContain('sent back')
  expect((await run(['report', '--format', 'html'])).stdout).toContain(`<li>${goals.runs} runs had goals`)
})

test('reads a session that was killed during a check as unfinished, and as one run once it was resumed', async () => {
  const cwd = mkdtempSync(join(here(), 'killed-'))
  writeFileSync(join(cwd, 'sum.txt'), 'minus\n')
  const id = randomUUID()
  const check =
    'echo x >> rounds; [ $(wc -l < rounds) -ne 2 ] || sleep 300; grep -q plus sum.txt || { echo 1 failed; exit 1; }'
  const args = ['-p', 'Make it pass.', '--script', script([{ content: 'One.' }]), '--until', check, '--session-id', id]
  const one = start(args, { cwd })
  await waitForFileText(join(cwd, 'rounds'))
  while (readFileSync(join(cwd, 'rounds'), 'utf8').length < 4) await new Promise((resolve) => setTimeout(resolve, 20))
  // While check running.
  const going = (await run(['why', id], { cwd })).stdout
  expect(going).toContain('The run is still running')
  expect(going).toContain('Unknown: the run has not ended; it was not met at the start.')
  expect(going).toContain('1 failed')
  one.child.kill('SIGKILL')
  await one.ended
  const killed = (await run(['why', id], { cwd })).stdout
  expect(killed).toContain('Unknown: the run has not ended')
  expect((await run(['what-if', id, '--until-tries', '1'], { cwd })).stdout).toContain('Unknown: the record ends')
  const write = { content: [call('Write', { file_path: 'sum.txt', content: 'plus\n' })] }
  const read = { content: [call('Read', { file_path: 'sum.txt' })] }
  const more = script([read, write, { content: 'Now.' }])
  const ended = await run(['-p', '--resume', id, '--script', more, '--allowedTools', 'Write'], { cwd })
  expect(ended.status).toBe(0)
  const whole = (await run(['why', id], { cwd })).stdout
  expect(whole).toContain('Met after 1 of 10 tries; it was not met at the start.')
  expect(whole).toContain('Checked 3 times')
  const lines = (await run(['replay', id], { cwd })).stdout.split('\n').filter((line) => line.includes(' goal: Check'))
  expect(lines.map((line) => /Check [^,]*/.exec(line)?.[0])).toEqual([
    'Check before the first request: not met',
    'Check of the answer: not met',
    'Check of the answer: met',
  ])
  const page = (await run(['sessions', 'export', id], { cwd })).stdout
  expect(page.match(/class="by">Check</g)).toHaveLength(3)
})

test('names the goal in the command that -p offers if nothing changed, since a prompt starts another run', async () => {
  const cwd = mkdtempSync(join(here(), 'stalled-'))
  const replies = script(['One.', 'Two.', 'Three.', 'Four.'].map((content) => ({ content })))
  const ended = await run(['-p', 'Make it.', '--script', replies, '--until', 'test -e "a b"'], { cwd })
  expect(ended.status).toBe(6)
  const offered = /Resume: halting -p --resume (\S+) (.*)/.exec(ended.stderr)
  expect(offered?.[2]).toBe(`--until 'test -e "a b"' "Try a different approach."`)
  const write = { content: [call('Write', { file_path: 'a b', content: 'x' })] }
  const args = ['-p', '--resume', offered?.[1] ?? '', 'Try a different approach.', '--until', 'test -e "a b"']
  const more = script([write, { content: 'Now.' }])
  const again = await run([...args, '--script', more, '--allowedTools', 'Write'], { cwd })
  expect(again.status).toBe(0)
  expect((await run(['why', offered?.[1] ?? ''], { cwd })).stdout).toContain('Met; it was not met at the start.')
})
