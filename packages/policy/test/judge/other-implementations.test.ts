// Holds R-RULE-7 and R-RULE-7j of docs/spec for programs with several implementations: BSD, busybox, mawk, the awk of its authors, and GNU programs
// under POSIXLY_CORRECT.
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { judged } from './support.ts'
import { canary, isBubblewrapThere, makeWorld, removeWorld, runMany } from './world.ts'

const world = makeWorld()
// Files with the names of options, for implementations that read these as files.
for (const name of ['-n', '-5', '-e', '-s', '-r', '-u', '-c', '-l', '-d', '--', '-i', '-z', '-A', '-H', '-E'])
  symlinkSync('../outside/x', join(world.project, name))
symlinkSync('../outside', join(world.project, '-v'))
const plainWorld = makeWorld()
const outerHome = process.env['HOME']
process.env['HOME'] = world.home
afterAll(() => {
  removeWorld(world)
  removeWorld(plainWorld)
  process.env['HOME'] = outerHome
})

const posix = 'export POSIXLY_CORRECT=1; '
const busybox = (name: string): string => `${name}() { busybox ${name} "$@"; }; `
const bwk = 'awk() { original-awk "$@"; }; '

interface Row {
  readonly command: string
  /** Makes another implementation run it; undefined if this machine has none. */
  readonly by?: string
  readonly harm: 'leak' | 'ran' | RegExp
}

const rows: readonly Row[] = [
  ...[
    'cat a.ts -n',
    'cat a.ts -- -n',
    'head a.ts -5',
    'head a.ts -n 5',
    'tail a.ts -n 5',
    'tail a.ts -5',
    'sort a.ts -n',
    'sort a.ts -u',
    'tac a.ts -s x',
    'nl a.ts -n ln',
    'fold a.ts -s',
    'paste a.ts -s',
    'cut -c1-99 a.ts -s',
    'grep . a.ts -n',
    'grep . a.ts -5',
    'grep -h . a.ts -A 5',
    'grep . -r src -n',
    'grep . -e ../outside/x',
    'egrep . a.ts -H',
    'sed p -n a.ts',
    'sed p a.ts -E',
    'strings a.ts -n 3',
    'od -c -w99 a.ts -A x | tr -d " "',
    'comm a.ts -z',
    'cat a.ts -n | tail -3',
  ].map((command): Row => ({ command, by: posix, harm: 'leak' })),
  ...["sed 'w new' -e p", "sed -n 'w new' --expression=p", "sed 'w new' -n -e p a.ts"].map((command): Row => ({
    command,
    by: posix,
    harm: /^project\/new$/,
  })),
  { command: 'uniq a.ts -c', by: posix, harm: /^outside\/x$/ },
  { command: 'cp a.ts b.ts -v', by: posix, harm: /^outside\/(?:a|b)\.ts$/ },
  { command: 'mv a.ts b.ts -v', by: posix, harm: /^outside\/(?:a|b)\.ts$/ },
  ...['--help', '-h', '-V', '--usage', '--help --help'].map((option): Row => ({
    command: `awk ${option} 'BEGIN { system("./evil") }'`,
    by: bwk,
    harm: 'ran',
  })),
  { command: `awk --help 'BEGIN { print > "new" }'`, by: bwk, harm: /^project\/new$/ },
  { command: `awk --help 'BEGIN { print ENVIRON["SECRET_TOKEN"] }'`, by: bwk, harm: 'leak' },
  { command: `awk --help -F: 'BEGIN { while (("./evil" | getline) > 0) print }'`, by: bwk, harm: 'ran' },
  { command: `sed 's,[],[],g;s,;w new#,,' a.ts`, by: busybox('sed'), harm: /^project\/new#,,$/ },
  { command: `sed 's,[^],[^],g;s,;w new#,,' a.ts`, by: busybox('sed'), harm: /^project\/new#,,$/ },
  { command: `sed ',[],s,;w new,,' a.ts; sed '\\,[],s,[],w new,' a.ts`, by: busybox('sed'), harm: /^project\/new,$/ },
  // BSD programs.
  { command: "sed -n -l 'w new' p", harm: /new/ },
  { command: 'sed -l "$x" p', harm: /new/ },
  { command: "sed '/[[:a]]/s/[[:b:]]/w new\n/' a.ts", harm: /new/ },
  { command: 'ls -I ../outside', harm: 'leak' },
  { command: 'ls -T ../outside', harm: 'leak' },
  { command: 'ls -w ../outside', harm: 'leak' },
  { command: 'grep -C . ../outside/x', harm: 'leak' },
  { command: 'grep --context . ../outside/x', harm: 'leak' },
]

const ways = (command: string): readonly string[] => [
  judged(command, { cwd: world.project }),
  judged(command, { cwd: world.project, mode: 'acceptEdits' }),
]

test.each(rows)('asks: $command', ({ command }) => {
  expect(ways(command)).toEqual(['ask', 'ask'])
})

const isThere = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const missing = ['original-awk', 'busybox'].filter((program) => !isThere(program))
const run = rows.filter(({ by = '' }) => by !== '' && !missing.some((program) => by.includes(`{ ${program} `)))

test.skipIf(!isBubblewrapThere)(
  `each command does its harm in such an implementation (needs bubblewrap)${missing.length > 0 ? ` (except those that need ${missing.join(', ')})` : ''}`,
  async () => {
    const outcomes = await runMany(
      world,
      run.map(({ by = '', command }) => by + command),
    )
    const harmless = run.filter(({ harm }, at) => {
      const { printed, changed } = outcomes[at] ?? { printed: '', changed: [] }
      if (harm === 'leak') return !canary.test(printed)
      return harm === 'ran' ? !changed.includes('ran/mark') : !changed.some((path) => harm.test(path))
    })
    expect(harmless.map(({ command }) => command)).toEqual([])
  },
  60_000,
)

test.each([
  'cat a.ts -b',
  'head src/c.ts -n 3',
  'head src/c.ts -3',
  'sort b.ts -rk2',
  'grep one b.ts -w',
  'grep -r one src --include="*.ts"',
  'sed --help',
  'sed --version | head -1',
  'awk --version',
  "sed 's/[^]]*]//' b.ts",
  "sed 's/[[:space:]]*$//; s/[\\/.]/_/g' b.ts",
  'ls -T 4 -w 80 -I node_modules',
  'sed -l 5 -n l b.ts',
  'git log main -n 3',
])('runs if no file has the name of an option: %s', (command) => {
  expect(judged(command, { cwd: plainWorld.project })).toBe('allow')
})
