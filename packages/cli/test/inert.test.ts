// Terminal output is sanitized (spec R-TEXT-3d): the output layer alone, and every command with hostile texts on a real terminal.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { sanitizeTerminalText } from '../src/io/sanitize-terminal-text.ts'
import { call, here, installProgram, programPath, run, script } from './support/program.ts'

installProgram()

// oxlint-disable-next-line no-control-regex -- control characters are what must not be there
const forbidden = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

const sequences = [
  ['a title', '\u001B]0;title\u0007'],
  ['the clipboard', '\u001B]52;c;ZXZpbA==\u001B\\'],
  ['a link', '\u001B]8;;http://evil\u001B\\'],
  ['the cursor', '\u001B[2A\u001B[1G'],
  ['the screen', '\u001B[2J\u001Bc'],
  ['what is hidden', '\u001B[8m'],
  ['a report of the terminal', '\u001B[6n\u001BP$q"p\u001B\\'],
  ['eight bits', '\u009B2J\u009D0;t\u009C\u0090x\u009C'],
  ['a return to the beginning of the line', 'safe\rEVIL'],
  ['steps back', 'evil\u0008\u0008\u0008\u0008safe'],
  ['a direction', '\u202Egpj.exe\u202C\u2066x\u2069'],
  ['an end that does not come', '\u001B]0;never ends'],
  ['a sequence in a sequence', '\u001B\u001B[2J[2J\u001B]\u001B]0;x\u0007'],
] as const

describe('The output layer', () => {
  test.each(sequences)('%s', (_name, text) => {
    expect(sanitizeTerminalText(`before ${text} after\n\tnext`, { styled: true })).not.toMatch(forbidden)
  })

  test('passes colors of the program on a color terminal, and no imitations', () => {
    expect(sanitizeTerminalText('\u001B[31mred\u001B[0m \u001B[5mblink\u001B[38;5;1mx', { styled: true })).toBe(
      '\u001B[31mred\u001B[0m blinkx',
    )
    expect(sanitizeTerminalText('\u001B[31mred\u001B[0m', { styled: false })).toBe('red')
  })

  test('keeps text in any script, tabs and line ends', () => {
    const text = 'a\tb\nåß∂ 漢字 👩‍👩‍👧 שלום\u200F עולם\n'
    expect(sanitizeTerminalText(text, { styled: true })).toBe(text)
  })

  test('passes nothing dangerous from random texts, in any pieces', () => {
    const alphabet = [
      '\u001B',
      '[',
      ']',
      '\u009B',
      '\u009D',
      '0;',
      '52;c;',
      'm',
      '2J',
      '8',
      '31',
      '\u0007',
      '\\',
      '\r',
      '\u0008',
      '\u202E',
      'x',
      '\u001B[31m',
      '\u0000',
    ]
    let seed = 7
    const next = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most
    for (let round = 0; round < 20_000; round += 1) {
      const text = Array.from({ length: 1 + next(12) }, () => alphabet[next(alphabet.length)]).join('')
      const at = next(text.length + 1)
      const shown =
        sanitizeTerminalText(text.slice(0, at), { styled: true }) +
        sanitizeTerminalText(text.slice(at), { styled: true })
      expect(shown.replaceAll('\u001B[31m', '')).not.toMatch(forbidden)
    }
  })
})

const isTerminalThere = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0
const evil = sequences.map(([, text]) => text).join(' ')

/** Runs the program on a terminal without colors; returns what the terminal received. */
function onTerminal(args: readonly string[]): string {
  const command = [process.execPath, programPath(), ...args]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    .join(' ')
  const env = { PATH: process.env['PATH'] ?? '', HOME: here(), TMPDIR: here(), TERM: 'dumb', SHELL: '/bin/bash' }
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    cwd: join(here(), 'work'),
    env,
    encoding: 'utf8',
    input: '',
  })
  // The terminal ends lines this way; and `script` prints the command at its end.
  return stdout.replaceAll('\r\n', '\n').replaceAll('^D\u0008\u0008', '')
}

describe.skipIf(!isTerminalThere)('Every command, over a session of hostile texts (needs script of util-linux)', () => {
  const fileName = `x${evil.replaceAll('/', '_').replaceAll('\u0000', '')}`.slice(0, 60)
  const replies = [
    {
      content: [
        `Look: ${evil}`,
        call('Bash', { command: `printf '%s' '${evil.replaceAll("'", '')}'`, description: evil }),
      ],
    },
    { content: [call('Write', { file_path: fileName, content: evil })] },
    { content: [call('Read', { file_path: `absent${evil.replaceAll('/', '_')}` }), call('Grep', { pattern: evil })] },
    { content: [call(`Tool`, { x: evil })] },
    { content: `Done. ${evil}` },
  ]
  let played = ''
  const sessionId = '11111111-2222-4333-8444-555555555555'

  beforeAll(async () => {
    mkdirSync(join(here(), 'work'))
    played = script(replies)
    const first = await run(
      ['-p', `Do ${evil}`, '--script', played, '--dangerously-skip-permissions', '--session-id', sessionId],
      {
        cwd: join(here(), 'work'),
      },
    )
    if (!first.stdout.includes('Done.')) throw new Error(first.stderr)
    writeFileSync(join(here(), 'bad.json'), `{"sandbox": "${evil.replaceAll(/[^ -~]/g, '')}"}`)
  })

  test.each([
    ['a run', () => ['-p', `Do ${evil}`, '--script', played, '--dangerously-skip-permissions']],
    [
      'a run that prints its steps',
      () => ['-p', `Do ${evil}`, '--script', played, '--verbose', '--allowedTools', 'Write'],
    ],
    ['json', () => ['-p', 'x', '--script', played, '--output-format', 'json']],
    ['stream-json', () => ['-p', 'x', '--script', played, '--output-format', 'stream-json', '--verbose']],
    ['why', () => ['why']],
    ['why --json', () => ['why', '--json']],
    ['replay', () => ['replay']],
    ['what-if', () => ['what-if', '--max-turns', '1']],
    ['sessions', () => ['sessions']],
    ['sessions search', () => ['sessions', 'search', 'Look']],
    ['sessions search for what is not there', () => ['sessions', 'search', evil]],
    ['sessions export', () => ['sessions', 'export', sessionId, '--format', 'markdown']],
    ['sessions show', () => ['sessions', 'show', sessionId]],
    ['rewind to a message', () => ['rewind', sessionId]],
    ['undo', () => ['undo', '--dry-run']],

    ['context', () => ['context', `Do ${evil}`]],
    ['check', () => ['check', '--max-turns', '3']],
    ['models', () => ['models', evil]],
    ['doctor', () => ['doctor']],
    ['settings that are wrong', () => ['-p', 'x', '--settings', join(here(), 'bad.json'), '--script', played]],
    ['a flag that there is not', () => [`--${evil}`]],
    ['a command that there is not', () => [evil, evil]],
    ['a script that is not there', () => ['-p', 'x', '--script', evil]],
    ['a session that is not there', () => ['--resume', evil, '-p', 'x']],
    ['a rule that cannot be read', () => ['-p', 'x', '--script', played, '--disallowedTools', `Read(!${evil})`]],
    ['help', () => ['--help']],
  ] as const)('%s', (_name, args) => {
    const shown = onTerminal(args().map((word) => word.replaceAll('\u0000', '')))
    expect(shown).not.toBe('')
    expect(shown).not.toMatch(forbidden)
  })
})
