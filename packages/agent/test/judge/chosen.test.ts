// Holds R-RULE-7e of docs/spec.md: a program tells its version by itself, unless a file of the project chooses the program.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/harness.ts'
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
])('asks beside %s: %j, %s', (file, text, command) => {
  expect([judgedBeside(file, text, command), judgedBeside(file, text, command, 'src/deep')]).toEqual(['ask', 'ask'])
})

test.each([
  ['.tool-versions', '# ours\nnodejs 20.11.1\npython 3.12.1 3.11\n', 'node -v && python -V'],
  ['.nvmrc', 'lts-iron\n', 'node -v'],
  ['.python-version', '3.12\n', 'python3 --version'],
  ['mise.toml', '[tools]\nnode = "20"\npython = ["3.12", "3.11"]\n', 'node --version'],
  ['rust-toolchain.toml', '[toolchain]\npath = "/tmp/evil"\n', 'node -v'],
])('runs beside %s: %j, %s', (file, text, command) => {
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
])('asks, since it may run what the project names: %s', (command) => {
  expect(judged(command, { cwd: temporaryFolder() })).toBe('ask')
})

test('under a deny rule for files it asks in bypassPermissions too where a file chooses the program', () => {
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

test.each(otherDaemons)('docker asks where a line names another daemon, also beside a rule: %s', (line) => {
  const cwd = temporaryFolder()
  const rules = { cwd, allow: ['Bash(docker ps:*)', 'Bash(docker --version)', 'Bash(docker -v:*)'] }
  const commands = ['ps', '--version', '-v', 'logs x'].map((command) => line.replace('COMMAND', command))
  expect(commands.map((command) => judged(command, rules))).toEqual(commands.map(() => 'ask'))
})
