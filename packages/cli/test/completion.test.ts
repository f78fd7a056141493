// Completion in shells (spec R-HELP-5, R-HELP-6), tested in the shells that are installed.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { completionModel, isPlain } from '../src/completion/completion-model.ts'
import { bashScript } from '../src/completion/bash-script.ts'
import { completion } from '../src/completion/completion.ts'
import { fishScript } from '../src/completion/fish-script.ts'
import { zshScript } from '../src/completion/zsh-script.ts'
import { quoted } from '../src/completion/shell-text.ts'
import { commandNames } from '../src/flags/commands.ts'
import { flagTable } from '../src/flags/table.ts'

const session = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const model = completionModel()
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-completion-'))
  for (const [name, script] of [
    ['bash', bashScript(model)],
    ['zsh', zshScript(model)],
    ['fish', fishScript(model)],
  ] as const)
    writeFileSync(join(folder, `script.${name}`), script)
  mkdirSync(join(folder, 'work', 'a folder'), { recursive: true })
  writeFileSync(join(folder, 'work', 'a file.json'), '{}')
  mkdirSync(join(folder, 'bin'))
  const listed = JSON.stringify({ sessions: [{ sessionId: '$(touch run)' }, { sessionId: session }] })
  writeFileSync(join(folder, 'bin', 'halting'), `#!/bin/sh\ncat <<'END'\n${listed}\nEND\n`)
  chmodSync(join(folder, 'bin', 'halting'), 0o755)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// zsh completes only in its line editor: its functions are replaced by ones that print the candidates.
const zshPorts = `
matching() { local each; for each; do [[ $each == \${words[CURRENT]}* ]] && print -r -- "$each"; done; return 0 }
_describe() { local -a offered_here; offered_here=("\${(@P)@[-1]}"); matching "\${(@)offered_here%%:*}" }
compadd() { [[ $1 == -- ]] && shift; matching "$@" }
compset() { words[CURRENT]=\${words[CURRENT]#*=} }
_files() { [[ $1 == -/ ]] && print -rl -- *(/N) || print -rl -- *(N) }
`

const drivers: Readonly<Record<string, { readonly command: string; readonly args: () => readonly string[] }>> = {
  bash: {
    command: 'bash',
    args: () => [
      '--noprofile',
      '--norc',
      '-uc',
      `source ../script.bash; complete -p halting >/dev/null || exit 9
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _halting; [ "\${#COMPREPLY[@]}" -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
    ],
  },
  zsh: {
    command: 'zsh',
    args: () => ['-fc', `${zshPorts}; source ../script.zsh; words=("$@"); CURRENT=$#; _halting`, 'zsh'],
  },
  fish: {
    command: 'fish',
    args: () => [
      '--no-config',
      '-c',
      'source ../script.fish; complete -C (string join " " -- (string escape -- $argv[1..-2]) $argv[-1])',
      '--',
    ],
  },
}

/** The candidates of a shell for the last of these words. */
function offered(shell: string, ...words: readonly string[]): readonly string[] {
  const driver = drivers[shell]
  if (driver === undefined) throw new Error(shell)
  const { stdout, stderr, status } = spawnSync(driver.command, [...driver.args(), 'halting', ...words], {
    cwd: join(folder, 'work'),
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, HOME: folder, LC_ALL: 'C.UTF-8' },
    encoding: 'utf8',
  })
  expect([stderr, status === 0 || shell === 'zsh']).toEqual(['', true])
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0]?.replace(/\/$/, '') ?? '']))
}

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

describe.each(Object.keys(drivers).map((shell) => [shell] as const))('in %s', (shell) => {
  describe.skipIf(!isInstalled(shell))('which is installed', () => {
    test.each<[offers: string, words: readonly string[], expected: readonly string[]]>([
      ['commands', ['wh'], ['what-if', 'why']],
      ['parts of a command', ['sessions', 'e'], ['export']],
      ['words of a command', ['completion', ''], ['bash', 'fish', 'zsh']],
      ['no second word of a command that takes one', ['completion', 'bash', ''], []],
      ['flags of a command', ['why', '--js'], ['--json']],
      ['flags of a part of a command', ['sessions', 'export', '--fo'], ['--force', '--format']],
      ['flags of runs', ['--max-tu'], ['--max-turns']],
      ['flags of runs to a command that takes them', ['check', '--max-tu'], ['--max-turns']],
      ['no flags of runs to a command that takes none', ['sessions', '--max-tu'], []],
      ['flags of mcp', ['mcp', 'add', '--tr'], ['--transport']],
      ['values of a closed set', ['--permission-mode', 'd'], ['default', 'dontAsk']],
      ['the value of a flag that another flag is before', ['-p', '--max-turns', '3', '--effort', 'x'], ['xhigh']],
      ['values of a closed set of mcp', ['mcp', 'add', '--scope', 'p'], ['project']],
      ['models by their short names', ['--model', 'sonn'], ['sonnet']],
      ['nothing for a value that may be anything', ['--max-turns', ''], []],
      ['files', ['--settings', ''], ['a file.json', 'a folder']],
      ['folders', ['report', ''], ['a folder']],
      ['ids of sessions, and nothing else that the program prints', ['undo', ''], [session]],
      ['ids of sessions as the value of a flag', ['--resume', ''], [session]],
      ['flags after a value that is left out', ['--resume', '--max-tu'], ['--max-turns']],
      ['commands behind flags with their values', ['--output-format', 'json', 'bud'], ['budget']],
      ['nothing behind --', ['--', 'wh'], []],
    ])('offers %s', (_offers, words, expected) => {
      const all = offered(shell, ...words).map((each) => each.replace(/^['"]|['"]$/g, '').replaceAll('\\ ', ' '))
      // fish also offers similar words if none begins with the text.
      expect(all.toSorted()).toEqual([...expected].toSorted())
    })

    test('offers the values of a choice after an equals sign', () => {
      // bash splits the word there.
      const words = shell === 'bash' ? ['--effort', '=', 'h'] : ['--effort=h']
      expect(offered(shell, ...words).map((each) => each.replace('--effort=', ''))).toEqual(['high'])
    })

    test('runs nothing from the command line', () => {
      for (const hostile of ['$(touch run)', '`touch run`', "'; touch run; '", '"$(touch run)'])
        for (const words of [[hostile, ''], ['why', hostile], ['--model', hostile], [`--effort=${hostile}`]])
          offered(shell, ...words)
      expect(offered(shell, '--settings', '').filter((each) => each.includes('run'))).toEqual([])
    })
  })
})

test.skipIf(!isInstalled('zsh'))('completes a call in the line editor of zsh, with descriptions of commands', () => {
  const calls = [
    ['halting why --js', '*--json*'],
    ['halting --permission-mode=pl', '*=plan*'],
    ['halting sessions ex', '*sessions export*'],
    ['halting wh\\t', '*Explain why a session stopped*'],
  ]
  const steps = calls.map(([call, pattern]) => `zpty -w -n z $'\\C-u${call}\\t'; zpty -r z line '${pattern}' || exit 1`)
  const terminal = `zmodload zsh/zpty || exit 1; zpty z zsh -f -i
zpty -w z "autoload -U compinit; compinit -D -u; source ../script.zsh; print REA''DY"; zpty -r z line '*READY*' || exit 1
${steps.join('\n')}
zpty -d z`
  const { status, stderr } = spawnSync('zsh', ['-fc', terminal], {
    cwd: join(folder, 'work'),
    env: { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C.UTF-8', TERM: 'xterm' },
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect([status, stderr]).toEqual([0, ''])
})

test('contains every command, subcommand and flag of the tables, without a word that needs quotes', () => {
  const places = new Map(model.commands.map((command) => [command.name, command]))
  expect(commandNames.filter((name) => !places.has(name))).toEqual([])
  const spelled = new Set(model.commands.flatMap(({ flags }) => flags.flatMap(({ names }) => names)))
  expect(Object.values(flagTable).flatMap(({ names }) => names.filter((name) => !spelled.has(name)))).toEqual([])
  const words = model.commands.flatMap(({ name, words: own, flags }) => [
    ...name.split(' ').filter((word) => word !== ''),
    ...[own, ...flags.flatMap(({ value }) => value ?? [])].flatMap((each) => (each.kind === 'words' ? each.words : [])),
    ...flags.flatMap(({ names }) => names),
  ])
  expect(words.length).toBeGreaterThan(500)
  expect(words.filter((word) => !isPlain(word))).toEqual([])
})

test('quotes any text for bash', () => {
  const texts = ["it's", '$(touch run)', '`id`', '\\', "''", 'a\nb', '"']
  const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${texts.map(quoted).join(' ')}`], { encoding: 'utf8' })
  expect(stdout.split('\0').slice(0, -1)).toEqual(texts)
})

test.each([[[]], [['tcsh']], [['bash', 'zsh']], [['constructor']]])('refuses %j as a usage error', (words) => {
  // It prints nothing before it throws.
  const program = { output: undefined } as never
  expect(() => completion(words, program)).toThrow('takes one shell: bash, zsh or fish')
})
