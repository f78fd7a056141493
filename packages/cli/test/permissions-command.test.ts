import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { installProgram, run, runHere } from './support/program.ts'

installProgram()

test('explains the decision about a command, part by part and by rule', async () => {
  const flags = ['--allowedTools', 'Bash(npm test)', '--disallowedTools', 'Bash(rm:*)']
  const { status, stdout, stderr } = await run(['permissions', 'npm test && ls | sort; rm x > log', ...flags])
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' })
  expect(stdout.split('\n')).toEqual([
    'Not allowed. Denied by the rule Bash(rm:*).',
    '',
    '  allow  npm test  the rule Bash(npm test)',
    '  allow  ls        it changes nothing that needs a rule',
    '  allow  sort      it changes nothing that needs a rule',
    '  deny   rm x      the rule Bash(rm:*)',
    expect.stringMatching(/^ {2}ask {4}> log {5}no rule allows writing .*\/log; allow it with Edit\(\/log\)$/),
    '',
  ])
})

test('shows every character of the parts, the reasons and the rules', async () => {
  const { stdout } = await runHere([
    'permissions',
    'cat /etc/a\u200Bb; rm\u{E0041} x',
    '--disallowedTools',
    'Bash(rm\u{E0041}:*)',
  ])
  expect(stdout.split('\n')).toEqual([
    'Not allowed. Denied by the rule Bash(rm⟦U+E0041⟧:*).',
    '',
    '  ask    cat /etc/a⟦U+200B⟧b  no rule allows reading /etc/a⟦U+200B⟧b; allow it with Bash(cat /etc/a⟦U+200B⟧b)',
    '  deny   rm⟦U+E0041⟧ x        the rule Bash(rm⟦U+E0041⟧:*)',
    '',
  ])
})

test('exits with 0 for a command that runs without asking', async () => {
  const { status, stdout } = await runHere(['permissions', 'git --version'])
  expect({ status, first: stdout.split('\n')[0] }).toEqual({ status: 0, first: 'Allowed.' })
})

test('exits with 1 for a command that needs approval, with the rule that would allow it', async () => {
  const { status, stdout } = await runHere(['permissions', 'npm test'])
  expect({ status, first: stdout.split('\n')[0] }).toEqual({
    status: 1,
    first: 'Asks for approval: no rule allows this command. The rule Bash(npm test) would allow it.',
  })
})

test('prints one object with --json', async () => {
  const { status, stdout } = await runHere(['permissions', 'make "$X" *', '--json'])
  expect({ status, ...(JSON.parse(stdout) as object) }).toEqual({
    status: 1,
    command: 'make "$X" *',
    behavior: 'ask',
    message: 'no rule allows this command.',
    mode: 'default',
    parts: [{ part: 'make "$X" *', behavior: 'ask', because: 'it runs a program' }],
    confinement: null,
  })
})

test('reports an allow rule that lets any program run, also as JSON', async () => {
  const flags = ['--allowedTools', 'Bash(git *)', 'Bash(npm test)']
  const { stdout } = await runHere(['permissions', 'git -c a=b fetch && npm test', ...flags])
  expect(stdout.split('\n').slice(2)).toEqual([
    '  allow  git -c a=b fetch  the rule Bash(git *)',
    '         This rule lets git run any program (aliases, hooks, -c).',
    '  allow  npm test          the rule Bash(npm test)',
    '',
  ])
  const { parts } = JSON.parse(
    (await runHere(['permissions', 'git -c a=b fetch', '--json', ...flags])).stdout,
  ) as object & {
    readonly parts: unknown
  }
  expect(parts).toEqual([
    {
      part: 'git -c a=b fetch',
      behavior: 'allow',
      because: 'the rule Bash(git *)',
      runsAnything: 'This rule lets git run any program (aliases, hooks, -c).',
    },
  ])
})

test('explains its usage without a command', async () => {
  const { status, stderr } = await runHere(['permissions'])
  expect({ status, isExplained: stderr.includes('halting permissions "npm test"') }).toEqual({
    status: 2,
    isExplained: true,
  })
})

test('refuses two commands', async () => {
  const { status, stderr } = await runHere(['permissions', 'npm', 'test'])
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'halting: halting permissions takes one Bash command. Put it in quotes: halting permissions "npm test".\n',
  })
})

const isBubblewrapThere =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

test.skipIf(!isBubblewrapThere)('says that a command runs in the sandbox', async () => {
  const settings = JSON.stringify({ sandbox: { enabled: true }, permissions: { deny: ['Bash(rm:*)'] } })
  const printed = (await runHere(['permissions', 'make; ls', '--settings', settings])).stdout.split('\n')
  expect(printed).toEqual([
    'Allowed.',
    '',
    '  allow  make  it runs in the sandbox',
    '  allow  ls    it changes nothing that needs a rule',
    '',
  ])
  expect((await runHere(['permissions', 'make', '--sandbox'])).status).toBe(0)
  expect((await runHere(['permissions', 'rm x', '--settings', settings])).status).toBe(1)
})
