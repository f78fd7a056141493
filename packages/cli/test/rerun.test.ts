// Holds rules of docs/spec: R-TEXT-6, R-TEXT-6a, R-TEXT-6b.
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { parseFlags } from '../src/flags/parse.ts'
import { rerunCommand } from '../src/headless/rerun-command.ts'
import { shellQuoted } from '../src/io/shell-quote.ts'

const missing = { rules: ['Bash(git push)'], mode: undefined }

/** The arguments of a command, as bash parses them. */
function argumentsOf(command: string): readonly string[] {
  const read = execFileSync('bash', ['-c', `halting() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' })
  return read.split('\0').slice(0, -1)
}

test('writes invisible characters in the command to paste by their bytes', () => {
  const rules = ['Bash(npm\u200B test\u{E0041}\u2800)']
  const { command } = rerunCommand({ argv: ['-p', 'x'], argument: 'x', prompt: 'x' }, { rules, mode: undefined })
  expect(command).toContain(String.raw`npm\xe2\x80\x8b test\xf3\xa0\x81\x81\xe2\xa0\x80`)
  expect(argumentsOf(command)).toContain(rules[0])
})

describe('repeats the same prompt after -p in the command to paste, and nothing else', () => {
  test.each<{ argv: readonly string[]; written: string; piped?: string }>([
    { argv: ['-p', 'fix it'], written: 'fix it' },
    { argv: ['fix it'], written: 'fix it' },
    { argv: ['-p', '--quiet', '--', '--dashes'], written: '--dashes' },
    { argv: ['-p'], written: '', piped: 'check' },
    { argv: [], written: '', piped: 'doctor' },
    { argv: ['--quiet'], written: '', piped: 'a sentence' },
    { argv: ['-p', ''], written: '', piped: 'piped' },
    { argv: ['-p', '--quiet', '--', ''], written: '', piped: '--dashes' },
    { argv: ['-p'], written: '', piped: '--dashes' },
    { argv: ['-p', 'review', '--append-system-prompt', 'review'], written: 'review', piped: 'a diff' },
    { argv: ['--append-system-prompt', 'review', '-p', 'review'], written: 'review', piped: 'a diff' },
  ])('$argv with "$piped" piped in', ({ argv, written, piped }) => {
    const prompt = [written, piped].filter(Boolean).join('\n\n')
    const again = argumentsOf(rerunCommand({ argv, argument: written, prompt }, missing).command)
    const [first = ''] = again
    expect(['check', 'demo', 'doctor', 'models']).not.toContain(first)
    const before = parseFlags(argv)
    expect(parseFlags(again)).toEqual({
      flags: { ...before.flags, print: true, allowedTools: missing.rules },
      words: [prompt],
    })
  })
})

test.each([['--settings', '{"apiKeyHelper":"echo sk-secret"}'], ['--settings=  {"apiKeyHelper":"echo sk-secret"}']])(
  'does not repeat inline settings, which may contain secrets',
  (...settings) => {
    const { text, command } = rerunCommand({ argv: ['-p', 'x', ...settings], argument: 'x', prompt: 'x' }, missing)
    expect(text + command).not.toContain('sk-secret')
    expect(command).toBe('  --allowedTools "Bash(git push)"')
  },
)

describe('resumes a stored session with the command to paste', () => {
  const sessionId = '5d9f4b1e-0000-4000-8000-000000000000'
  test.each<{ argv: readonly string[]; written: string }>([
    { argv: ['fix it', '--model', 'x', '--mcp-config', 'servers.json'], written: 'fix it' },
    { argv: ['-p', 'fix it', '--session-id', sessionId, '--model=x', '--mcp-config=servers.json'], written: 'fix it' },
    {
      argv: ['--resume', 'other', '--fork-session', '-p', '--model', 'x', '--mcp-config', 'servers.json'],
      written: '',
    },
    { argv: ['-c', '--model', 'x', '--mcp-config', 'servers.json', '--', '-fix'], written: '-fix' },
  ])('$argv', ({ argv, written }) => {
    const { text, command } = rerunCommand({ argv, argument: written, prompt: written, sessionId }, missing)
    expect(text).toBe('Allow them and continue:')
    expect(parseFlags(argumentsOf(command))).toEqual({
      flags: { print: true, resume: sessionId, model: 'x', mcpConfig: ['servers.json'], allowedTools: missing.rules },
      words: ['The calls that were denied are allowed now. Try them again.'],
    })
  })

  test('does not repeat inline servers', () => {
    const argv = ['-p', 'x', '--mcp-config', '{"mcpServers":{"a":{"headers":{"x":"sk-secret"}}}}']
    const { text, command } = rerunCommand({ argv, argument: 'x', prompt: 'x', sessionId }, missing)
    expect(text + command).not.toContain('sk-secret')
    expect(argumentsOf(command)).toContain(sessionId)
  })
})

test('contains no terminal controls and no direction changes in a quoted argument', () => {
  const steering = 'a\u001B[2J\u0007\u009B31m\u202Eb\u2066c\u200Fd\u2028e\n"f" \'g\' !h $(i) \\'
  const quoted = shellQuoted([steering])
  expect(quoted).toMatch(/^[ -~]*$/)
  for (const locale of ['C', 'C.UTF-8'])
    expect(
      execFileSync('bash', ['-c', `printf '%s' ${quoted}`], {
        encoding: 'utf8',
        env: { ...process.env, LC_ALL: locale },
      }),
    ).toBe(steering)
})

test('prevents history expansion in a quoted argument', () => {
  for (const argument of ['wow!echo', "it's !echo", 'a\tb!echo', '"!echo"', '!!', '$HOME !echo', '\\!echo']) {
    // An interactive shell would replace these by earlier commands.
    const read = execFileSync('bash', ['--norc', '--noprofile', '-i'], {
      input: `echo before\nprintf '<%s>' ${shellQuoted([argument])}\n`,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], HISTFILE: '/dev/null' },
    })
    expect(read).toBe(`before\n<${argument}>`)
  }
})
