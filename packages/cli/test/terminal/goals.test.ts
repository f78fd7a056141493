// Goals in the interactive program, with commands that run. Holds rules of docs/spec: R-GOAL-73 to R-GOAL-76.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { key, startApp, type AppSetup, type RunningApp } from './app-support.ts'

const bash = (command: string): unknown => ({ type: 'tool_use', name: 'Bash', input: { command } })

/** Passes once the file n contains a 3. */
const check = 'n=$(cat n); test "$n" -ge 3 || { echo "$((3 - n)) failed"; exit 1; }'

function start(setup: AppSetup): Promise<RunningApp> {
  const { flags, files, ...others } = setup
  return startApp({
    rows: 60,
    columns: 110,
    files: { n: '0', 'check.sh': check, ...files },
    flags: { permissionMode: 'acceptEdits', allowedTools: ['Bash(echo *)'], ...flags },
    ...others,
  })
}

/** Half a second after an ending an empty line starts its action. */
const guardTime = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600))

const sets = (n: number): unknown => ({ content: ['I work.', bash(`echo ${n} > n`)] })

describe('a run with a goal', () => {
  test('shows each round and the state of the goal, until it is met', async () => {
    const { terminal, say, settled } = await start({
      replies: [sets(1), { content: 'Done.' }, sets(3), { content: 'Done now.' }],
    })
    say('/until bash check.sh')
    await terminal.waitFor('An answer is accepted when this command exits with 0: bash check.sh.')
    say('go')
    await terminal.waitFor('✓ done · goal met: bash check.sh')
    await settled()
    const rounds = terminal.all().filter((line) => line.startsWith('⏺ goal'))
    expect(rounds).toEqual([
      '⏺ goal: bash check.sh ✗ (before the run: 3 failed)',
      '⏺ goal: bash check.sh ✗ (try 1 of 10: 2 failed)',
      '⏺ goal: bash check.sh ✓',
    ])
    expect(terminal.shown()).toContain('· goal ✓ ·')
    // The line of the round mentions it.
    expect(terminal.all().join('\n')).not.toContain('sent to the model')
  })

  test('ends with its answer after /until off', async () => {
    const { terminal, say } = await start({
      replies: [{ content: ['I work.', bash('echo 1 > n; sleep 1')] }, { content: 'Done.' }],
      flags: { until: ['bash check.sh'], allowedTools: ['Bash(echo *)', 'Bash(sleep *)'] },
    })
    say('go')
    await terminal.waitFor('I work.')
    say('/until off')
    await terminal.waitFor('Removed the commands as goals.')
    await terminal.waitFor('✓ done · 2 turns')
    expect(terminal.all().filter((line) => line.startsWith('⏺ goal'))).toHaveLength(1)
  })

  test('shows a question of the model to the person, and Enter sends it back with the report', async () => {
    const { terminal, say, type, settled } = await start({
      replies: [{ content: 'Which one?' }, sets(3), { content: 'Done.' }],
      flags: { until: ['bash check.sh'] },
    })
    say('go')
    await terminal.waitFor('Stopped: the goal is not met, and the answer called no tool: `bash check.sh` failed')
    await terminal.waitFor('↵ send the answer back again   m↵ another model   y↵ /why')
    await settled()
    await guardTime()
    type(key.enter)
    await terminal.waitFor('sent to the model: The goal is not met: `bash check.sh` failed with exit code 1.')
    await terminal.waitFor('✓ done · goal met: bash check.sh')
    // No message is shown.
    expect(terminal.all().filter((line) => line.startsWith('> '))).toEqual(['> go'])
  })

  test('ends after the last try, and offers more tries and reverting its changes', async () => {
    const write = { type: 'tool_use', name: 'Write', input: { file_path: 'new.txt', content: 'x\n' } }
    const { terminal, say, type, settled, cwd } = await start({
      replies: [
        { content: ['I write.', write] },
        { content: 'A.' },
        sets(1),
        { content: 'B.' },
        sets(3),
        { content: 'C.' },
      ],
      flags: { until: ['bash check.sh'], untilTries: 1 },
    })
    say('go')
    await terminal.waitFor('Stopped: the goal is not met after 1 try')
    await terminal.waitFor('↵ +10 tries and continue')
    await settled()
    expect(existsSync(join(cwd, 'new.txt'))).toBe(true)
    say('u')
    await terminal.waitFor(/Revert \d files?\?/)
    await terminal.waitFor('new.txt')
    type(key.enter)
    await terminal.waitFor('The conversation is unchanged.')
    expect(existsSync(join(cwd, 'new.txt'))).toBe(false)
    await guardTime()
    type(key.enter)
    await terminal.waitFor('✓ done · goal met: bash check.sh')
  })

  test('is checked again if the person fixed it in the meantime', async () => {
    const { terminal, say, type, settled, cwd } = await start({
      replies: [{ content: 'I cannot.' }, { content: 'Thank you.' }],
      flags: { until: ['bash check.sh'] },
    })
    say('go')
    await terminal.waitFor('[goal_unmet]')
    await settled()
    writeFileSync(join(cwd, 'n'), '3')
    await guardTime()
    type(key.enter)
    await terminal.waitFor('✓ done · goal met: bash check.sh')
    expect(terminal.all().filter((line) => line.startsWith('⏺ goal'))).toHaveLength(2)
  })

  test('ends together with its check on Ctrl+C', async () => {
    const { terminal, say, type } = await start({
      replies: [{ content: 'Done.' }],
      flags: { until: ['echo begun; sleep 60'] },
      now: () => performance.now(),
    })
    say('go')
    await terminal.waitFor(/checking echo begun; sleep 60 0:0\d/)
    type(key.ctrl('c'))
    await terminal.waitFor('Stopped: interrupted')
    await terminal.waitFor('It is unknown whether the goal is met.')
    expect(terminal.all().join('\n')).toContain('⏺ goal: echo begun; sleep 60: check not finished')
  })

  test('checks nothing in plan mode, and the panel says so', async () => {
    const { terminal, say } = await start({
      replies: [{ content: 'The plan.' }],
      flags: { until: ['bash check.sh'], permissionMode: 'plan' },
    })
    say('go')
    await terminal.waitFor('goal not checked in plan mode')
    await terminal.waitFor('✓ done')
    expect(terminal.all().filter((line) => line.startsWith('⏺ goal'))).toEqual([])
  })
})

describe('/until', () => {
  test('replaces the previous command, adds one with +, and shows all with their results', async () => {
    const { terminal, say, settled } = await start({ replies: [{ content: 'Which one?' }] })
    say('/until true')
    await terminal.waitFor('exits with 0: true.')
    say('/until bash check.sh')
    await terminal.waitFor('exits with 0: bash check.sh.')
    say('/until + true')
    await terminal.waitFor('All 2 goals must be met.')
    say('go')
    await terminal.waitFor('[goal_unmet]')
    await settled()
    say('/until')
    await terminal.waitFor('/until + npm run lint: add one')
    const shown = terminal.all().slice(terminal.all().findLastIndex((line) => line === 'Goals'))
    expect(shown.slice(0, 4)).toEqual(['Goals', '  bash check.sh ✗ (exit code 1)', '    3 failed', '  true'])
    say('/limits')
    await terminal.waitFor(/tries\s+0 of 10/)
  })

  test('rejects an unknown command, and changes nothing', async () => {
    const { terminal, say } = await start({})
    say('/until nmpp test')
    await terminal.waitFor('nmpp was not found')
    say('/until')
    await terminal.waitFor('No goal is set.')
    expect(terminal.shown()).not.toContain('· goal')
  })
})
