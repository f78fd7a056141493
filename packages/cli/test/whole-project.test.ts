import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installProgram, programPath } from './support/program.ts'

installProgram()

test('runs the example of a whole project: rules, a hook, a server, an agent, memory over two sessions, and why it stopped', () => {
  const example = fileURLToPath(new URL('../../../examples/whole-project/run.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [example], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HALTING_PROGRAM: programPath() },
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const expected = [
    'permissions.allow  Bash(npm test)',
    '✗ Read .env: Denied by the rule Read(./.env).',
    '✗ Bash npm test: exit code 1',
    'PostToolUse hook:',
    'src/price.mjs:3 is right',
    '✓ Ticket 7 is closed.',
    'memory after the run: completed',
    'Fixed: 250 cents with 19 % tax are 298 now.',
    'completed: The model gave its answer',
    'After the run',
    'We always round half a cent up.',
    'MEMORY.md',
    'Half a cent goes up',
    'The tests pass.',
  ]
  let from = 0
  for (const text of expected) {
    const at = stdout.indexOf(text, from)
    expect(at === -1 ? `${text} is not in\n${stdout.slice(from)}` : text).toBe(text)
    from = at
  }
  expect(stdout.match(/\(exit code \d+\)/g)).toEqual(Array.from({ length: 5 }, () => '(exit code 0)'))
})
