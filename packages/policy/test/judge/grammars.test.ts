// Holds R-RULE-7 of docs/spec: grammars are compared with the help texts of the programs.
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { gitCommands } from '../../src/shell/grammars/git.ts'
import { grammars } from '../../src/shell/command-effects.ts'
import { optionsOf } from '../../src/shell/read-grammar.ts'
import type { Grammar } from '../../src/shell/effects.ts'

/** Programs without a help text that can be parsed, and builtins of the shell with other options. */
const silent: ReadonlySet<string> = new Set([
  'echo',
  'printf',
  'pwd',
  'true',
  'false',
  'test',
  'which',
  'mawk',
  'awk',
  'jq',
  'column',
])

function known(grammar: Grammar): ReadonlySet<string> {
  return new Set([...optionsOf(grammar).keys(), ...(grammar.refused ?? '').split(' ')])
}

/** Long and short options at the beginning of lines of a help text. */
function optionsNamed(help: string): readonly string[] {
  const heads = help.split('\n').flatMap((line) => /^\s{1,8}(-\S.*?)(?:\s{2,}|$)/.exec(line)?.[1] ?? [])
  // In the help of cut `-M` is the end of a range.
  return heads
    .filter((head) => head !== '-M' && !head.includes('--version'))
    .flatMap((head) =>
      [...head.matchAll(/(?:^|[\s,])(-[A-Za-z0-9](?![\w-])|--[a-z][a-z0-9-]*)/g)].map(([, name = '']) => name),
    )
}

const gnu = Object.keys(grammars).filter((name) => !silent.has(name) && isGnu(name))

/** Other systems have different programs of these names, whose unknown options ask. */
function isGnu(name: string): boolean {
  const { stdout } = spawnSync(name, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return /GNU|GLIBC|util-linux|procps|^file-|^hostname \d/.test(stdout ?? '')
}

describe('every option that a program documents is known as harmless or as refused', () => {
  test('there are programs to check', () => {
    expect(process.platform !== 'linux' || gnu.length > 20).toBe(true)
  })

  test.each(gnu.length > 0 ? gnu : ['none'])('%s', (name) => {
    const grammar = grammars[name]
    if (grammar === undefined) return
    // hostname prints its help to stderr.
    const { stdout, stderr } = spawnSync(name, ['--help'], { encoding: 'utf8' })
    const all = known(grammar)
    expect(
      optionsNamed(stdout + stderr).filter(
        (option) => !all.has(option) && option !== '--help' && option !== '--version',
      ),
    ).toEqual([])
  })
})

describe('a grammar', () => {
  const every = [...Object.entries(grammars), ...Object.entries(gitCommands)]

  test.each(every)('%s does not both accept and refuse an option', (_, grammar) => {
    const refused = (grammar.refused ?? '').split(' ').filter(Boolean)
    expect(refused.filter((option) => optionsOf(grammar).has(option))).toEqual([])
  })

  test.each(every)('%s is written in the form that is parsed', (_, grammar) => {
    for (const token of grammar.options.split(/\s+/).filter(Boolean))
      expect(token).toMatch(
        /^(?:-[A-Za-z0-9]+|-[A-Za-z0-9][:?]\w+(?: \w+)?|--[A-Za-z0-9][\w-]*(?:[:?](?:text|number|read|list|write))?)$/,
      )
  })
})

test('git options that run, write or read elsewhere are in no grammar', () => {
  const dangerous = [
    '--output',
    '--ext-diff',
    '--textconv',
    '--no-index',
    '--open-files-in-pager',
    '-O',
    '--exec',
    '--upload-pack',
    '--contents',
    '--filters',
    '--submodule',
    '--recurse-submodules',
    '--stdin',
    '--file',
    '--git-dir',
    '-c',
  ]
  for (const [name, grammar] of Object.entries(gitCommands)) {
    const found = dangerous.filter((option) => optionsOf(grammar).has(option))
    // Here `-c` has another meaning.
    const own: Readonly<Record<string, readonly string[]>> = {
      'rev-parse': ['--git-dir'],
      log: ['-c'],
      show: ['-c'],
      whatchanged: ['-c'],
      'diff-tree': ['-c'],
      blame: ['-c'],
      shortlog: ['-c'],
      'rev-list': ['-c'],
      grep: ['-c'],
      'ls-files': ['-c'],
      'check-ignore': ['--no-index'],
    }
    expect([name, found]).toEqual([name, own[name] ?? []])
  }
})
