// Holds R-RULE-7e and R-RULE-7k of docs/spec: programs that load code run without asking, unless a file or a folder of the project chooses what they
// load.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { judged } from './support.ts'

function judgedBeside(file: string, text: string, command: string, folder = '.'): string {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, folder), { recursive: true })
  mkdirSync(join(cwd, '.config/mise'), { recursive: true })
  writeFileSync(join(cwd, file), text)
  return judged(command, { cwd: join(cwd, folder) })
}

test.each([
  ['.tool-versions', 'nodejs path:./tool\n', 'node -v'],
  ['.tool-versions', 'nodejs ref:main\n', 'node -v'],
  ['.python-version', '../../evil\n', 'python3 -V'],
  ['.ruby-version', '..\n', 'ruby --version'],
  ['mise.toml', '[tools]\nnode = "pa\\u0074h:tool"\n', 'node --version'],
  ['.config/mise/config.toml', '[tools]\nnode = "{{ exec(command=\'x\') }}"\n', 'npm -v'],
  ['.prototools', '[plugins]\nnode = "file://./evil.wasm"\n', 'node -v'],
  ['rust-toolchain', 'nightly\n', 'rustc -V'],
  ['rust-toolchain.toml', '[toolchain]\nchannel = "1.70"\n', 'cargo --version'],
  ['.tool-versions', `nodejs 20\n${'#'.repeat(20_000)}`, 'node -v'],
])('asks with %s: %j, %s', (file, text, command) => {
  expect([judgedBeside(file, text, command), judgedBeside(file, text, command, 'src/deep')]).toEqual(['ask', 'ask'])
})

test.each([
  ['.tool-versions', '# ours\nnodejs 20.11.1\npython 3.12.1 3.11\n', 'node -v && python -V'],
  ['.nvmrc', 'lts-iron\n', 'node -v'],
  ['.python-version', '3.12\n', 'python3 --version'],
  ['mise.toml', '[tools]\nnode = "20"\npython = ["3.12", "3.11"]\n', 'node --version'],
  ['rust-toolchain.toml', '[toolchain]\npath = "/tmp/evil"\n', 'node -v'],
])('runs with %s: %j, %s', (file, text, command) => {
  expect(judgedBeside(file, text, command)).toBe('allow')
})

test.each([
  'yarn --version',
  'pnpm --version',
  'gradle --version',
  'node -v x',
  'python -v',
  'node -v -e 1',
  'node "$v"',
])('a command asks if it may run a program that the project names: %s', (command) => {
  expect(judged(command, { cwd: temporaryFolder() })).toBe('ask')
})

test('a deny rule for files makes it ask in bypassPermissions too if a file chooses the program', () => {
  const cwd = temporaryFolder()
  const judgedNow = (): string => judged('rustc -V', { cwd, mode: 'bypassPermissions', deny: ['Read(.env)'] })
  const before = judgedNow()
  writeFileSync(join(cwd, 'rust-toolchain.toml'), 'x')
  expect([before, judgedNow()]).toEqual(['allow', 'ask'])
})

const otherDaemons = [
  'docker -H tcp://host:2375 COMMAND',
  'docker -Htcp://host:2375 COMMAND',
  'docker --host tcp://host:2375 COMMAND',
  'docker --host=ssh://host COMMAND',
  'docker --context other COMMAND',
  'docker --context=other COMMAND',
  'docker -c other COMMAND',
  'docker --config . COMMAND',
  'docker --tlscacert=ca.pem COMMAND',
  'DOCKER_HOST=tcp://host:2375 docker COMMAND',
  'DOCKER_CONTEXT=other docker COMMAND',
  'DOCKER_CONFIG=. docker COMMAND',
  'export DOCKER_HOST=tcp://host:2375; docker COMMAND',
  'DOCKER_HOST=tcp://host:2375; docker COMMAND',
  'read DOCKER_HOST <<< tcp://host:2375; docker COMMAND',
  'for DOCKER_HOST in tcp://host:2375; do docker COMMAND; done',
]

test.each(otherDaemons)('docker asks if a line names another daemon, even with a rule: %s', (line) => {
  const cwd = temporaryFolder()
  const rules = { cwd, allow: ['Bash(docker ps:*)', 'Bash(docker --version)', 'Bash(docker -v:*)'] }
  const commands = ['ps', '--version', '-v', 'logs x'].map((command) => line.replace('COMMAND', command))
  expect(commands.map((command) => judged(command, rules))).toEqual(commands.map(() => 'ask'))
})

/** `bin` of the project has a pip, a python and a man, and `outside/bin` a link to that pip. */
function projectWithPrograms(): { readonly cwd: string; readonly outside: string } {
  const root = temporaryFolder()
  const [cwd, outside] = [join(root, 'project'), join(root, 'outside')]
  for (const folder of [join(cwd, 'bin'), join(cwd, 'lib'), join(outside, 'bin'), join(outside, 'links')])
    mkdirSync(folder, { recursive: true })
  for (const name of ['pip', 'pip3', 'python3', 'man']) writeFileSync(join(cwd, 'bin', name), '')
  for (const name of ['pip', 'pip3', 'python3', 'man']) writeFileSync(join(outside, 'bin', name), '')
  symlinkSync(join(cwd, 'bin/pip'), join(outside, 'links/pip'))
  return { cwd, outside }
}

const loading = ['pip list', 'pip3 list --format=json', 'pip show requests', 'pip --version']

test.each<[string, Readonly<Record<string, string>>]>([
  ['programs of the folder', { PATH: '@P/bin:@O/bin' }],
  ['a link to a program of the folder', { PATH: '@O/links:@O/bin' }],
  ['an empty place to find programs', { PATH: ':@O/bin' }],
  ['a place that counts from the folder', { PATH: 'bin:@O/bin' }],
  ['code of the folder', { PYTHONPATH: '@P/lib' }],
  ['code of wherever it runs', { PYTHONPATH: '.' }],
  ['code of an empty place', { PYTHONPATH: ':@O/lib' }],
  ['packages of the folder', { PYTHONUSERBASE: 'lib' }],
  ['settings of the folder', { PIP_CONFIG_FILE: 'pip.conf' }],
  ['another Python', { PIP_PYTHON: './bin/python3' }],
  ['a log in the folder', { PIP_LOG: '@P/log' }],
  ['a home that is the folder', { HOME: '@P' }],
  ['a home below the folder', { HOME: '@P/home' }],
])('pip asks with %s', (_, variables) => {
  const { cwd, outside } = projectWithPrograms()
  const placed = Object.entries(variables).map(([name, value]) => [
    name,
    value.replaceAll('@P', cwd).replaceAll('@O', outside),
  ])
  const env = { PATH: join(outside, 'bin'), HOME: outside, ...Object.fromEntries(placed) }
  expect(loading.map((command) => judged(command, { cwd, env }))).toEqual(loading.map(() => 'ask'))
})

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['pages of the folder', { MANPATH: '@P/man' }, 'ask'],
  ['pages of wherever it runs', { MANPATH: 'man:' }, 'ask'],
  ['programs of the folder, beside which pages may lie', { PATH: '@O/bin:@P/bin' }, 'ask'],
  ['an empty place for programs', { PATH: '@O/bin:' }, 'ask'],
  ['a home that is the folder', { HOME: '@P' }, 'ask'],
  ['pages of the person, and of the system', { MANPATH: '@O/man:' }, 'allow'],
  ['nothing of the folder', {}, 'allow'],
])('man asks with %s', (_, variables, behavior) => {
  const { cwd, outside } = projectWithPrograms()
  const placed = Object.entries(variables).map(([name, value]) => [
    name,
    value.replaceAll('@P', cwd).replaceAll('@O', outside),
  ])
  const env = { PATH: join(outside, 'bin'), HOME: outside, ...Object.fromEntries(placed) }
  expect(judged('man ls | head', { cwd, env })).toBe(behavior)
})

test('pip runs if it and its Python are outside, unless the line writes', () => {
  const { cwd, outside } = projectWithPrograms()
  const env = { PATH: join(outside, 'bin'), HOME: outside }
  expect(loading.map((command) => judged(command, { cwd, env }))).toEqual(loading.map(() => 'allow'))
  const rules = { cwd, env, mode: 'acceptEdits', allow: ['Bash(make)'] } as const
  expect([
    judged('touch x; pip list', rules),
    judged('cp lib/x lib/y && pip show x', rules),
    judged('pip list > packages', rules),
    // A part of the line needs a rule: then pip would ask its index for a newer version.
    judged('make; pip list', rules),
    judged('pip list', { ...rules, additionalDirectories: [outside] }),
  ]).toEqual(['ask', 'ask', 'ask', 'ask', 'ask'])
})

test.each([
  'pip freeze',
  'pip freeze --exclude-editable',
  'pip list --outdated',
  'pip list -o',
  'pip list --out',
  'pip list --path .',
  'pip list --log new',
  'pip --log new list',
  'pip --python ./bin/python3 list',
  'pip list --python ./bin/python3',
  'pip show "$x"',
  'pip "$x"',
  'pip config list',
  'pip debug',
  'pip cache dir',
  'pip check',
  'pip install x',
  'pip download x',
  'pip wheel .',
  'pip uninstall -y x',
  'pip inspect',
  'pip index versions x',
  'PYTHONPATH=. pip list',
  'PIP_CONFIG_FILE=pip.conf pip list',
  'python3 -m pip list',
  './bin/pip list',
  'man ./page',
  'man bin/page',
  'man -l page',
  'man --local-file page',
  'man -P ./evil ls',
  'man --pager=./evil ls',
  'man -H./evil ls',
  'man -M . page',
  'man -C man.conf ls',
  'man -p t ls',
  'man "$x"',
  'man l*',
  'man ls -P ./evil',
  'MANPATH=. man page',
  'MANPAGER=./evil man ls',
])('a command asks if it may run, write or read unchecked files: %s', (command) => {
  const { cwd, outside } = projectWithPrograms()
  expect(judged(command, { cwd, env: { PATH: join(outside, 'bin'), HOME: outside } })).toBe('ask')
})

test('rg asks if its settings, which may name a program, are in the folder', () => {
  const { cwd, outside } = projectWithPrograms()
  const judgedWith = (path: string): string =>
    judged('rg x | head', { cwd, env: { HOME: outside, RIPGREP_CONFIG_PATH: path } })
  symlinkSync(join(cwd, 'rc'), join(outside, 'rc'))
  expect([join(cwd, 'rc'), 'rc', '../project/rc', join(outside, 'rc')].map(judgedWith)).toEqual([
    'ask',
    'ask',
    'ask',
    'ask',
  ])
  expect(['', join(outside, 'other')].map(judgedWith)).toEqual(['allow', 'allow'])
  expect(judged('rg x > found', { cwd, mode: 'acceptEdits' })).toBe('allow')
})
