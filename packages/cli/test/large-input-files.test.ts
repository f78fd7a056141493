// Spec R-TEXT-8: a file that a flag names must be a file of a reasonable size.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readOptionFile } from '@halting/agent/open-session'
import { here, installProgram, programPath, run } from './support/program.ts'

installProgram()

const flags = [
  '--system-prompt-file',
  '--append-system-prompt-file',
  '--json-schema',
  '--mcp-config',
  '--settings',
  '--script',
]

describe.each(flags)('%s', (flag) => {
  test.each(['a device that never ends', 'a pipe that nobody writes to', 'a folder'])('%s is refused', async (what) => {
    const pipe = join(here(), `pipe${flag}`)
    if (what.startsWith('a pipe')) execFileSync('mkfifo', [pipe])
    const path = what.startsWith('a pipe') ? pipe : what === 'a folder' ? here() : '/dev/zero'
    const { status, stdout, stderr } = await run(['-p', 'x', flag, path], { env: { ANTHROPIC_API_KEY: 'k' } })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(flag === '--settings' ? 'settings' : flag)
    expect(stderr).toContain('cannot be read: it is not a regular file')
  })
})

test('does not read all of a file that is too large or endless', async () => {
  writeFileSync(join(here(), 'large'), Buffer.alloc(10 * 1024 * 1024 + 1, 'a'))
  await expect(readOptionFile('large', here(), 'It takes a file')).rejects.toThrow(
    'It takes a file; "large" cannot be read: it is larger than 10 MB.',
  )
  writeFileSync(join(here(), 'marked'), '\uFEFFtext')
  expect(await readOptionFile('marked', here(), '')).toBe('text')
})

test.runIf(existsSync('/dev/fd'))('reads input that a shell passes with <(command)', async () => {
  const script = join(here(), 'replies.json')
  writeFileSync(script, '{"replies":[{"content":"Done."}]}')
  const program = [process.execPath, programPath()].join(' ')
  const output = execFileSync(
    'bash',
    ['-c', `${program} -p x --script ${script} --append-system-prompt-file <(printf 'from a command')`],
    { encoding: 'utf8', cwd: here() },
  )
  expect(output).toBe('Done.\n')
})

test.runIf(existsSync('/dev/fd'))('reads settings passed with <(command) only once, when they are loaded', async () => {
  const program = [process.execPath, programPath()].join(' ')
  const output = execFileSync('bash', ['-c', `${program} config --settings <(printf '{"limits":{"maxTurns":7}}')`], {
    encoding: 'utf8',
    cwd: here(),
  })
  expect(output).toContain('limits.maxTurns = 7')
})
