// Holds R-RULE-1f to R-RULE-1i and R-RULE-5d of docs/spec: deny and ask rules apply to what a command does, in any spelling.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PermissionMode, permissionModes } from '../../src/permissions/rule-book.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judged } from './support.ts'

interface Group {
  readonly title: string
  readonly commands: readonly string[]
}

function groupsIn(name: string): readonly Group[] {
  const text = readFileSync(new URL(`corpus/${name}.txt`, import.meta.url), 'utf8')
  return text.split(/^== /m).flatMap((part, at) => {
    const [title = '', ...lines] = part.split('\n')
    const commands = lines
      .filter((line) => line !== '' && !line.startsWith('//'))
      .map((line) => line.replaceAll('⏎', '\n'))
    return at === 0 ? [] : [{ title, commands }]
  })
}

/** `deny=Bash(a);Bash(b)` as options of permissions. */
function rulesOf(title: string): { readonly deny?: readonly string[]; readonly ask?: readonly string[] } {
  const [behavior = '', rules = ''] = title.split(/=(.*)/s)
  return { [behavior]: rules.split(';') }
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-spellings-')))
const outerHome = process.env['HOME']
// Aliases of the user who runs the tests are ignored.
beforeAll(() => {
  process.env['HOME'] = folder
})
afterAll(() => {
  process.env['HOME'] = outerHome
  rmSync(folder, { recursive: true, force: true })
})

function project(name: string): string {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  for (const folder of ['src', 'sub', 'src2']) mkdirSync(join(cwd, folder))
  writeFileSync(join(cwd, 'src/c.ts'), 'x')
  execFileSync('git', ['init', '-q', cwd])
  return cwd
}

const cwd = project('plain')
const modes = permissionModes.filter((mode) => mode !== 'plan')

function ways(command: string, options: object): readonly PermissionMode[] {
  return modes.filter((mode) => judged(command, { cwd, mode, allow: ['Bash'], ...options }) === 'allow')
}

test('a rule applies to other spellings of its command, in any mode', () => {
  const groups = groupsIn('spellings-denied')
  const through = groups.flatMap(({ title, commands }) =>
    commands.flatMap((command) => {
      const found = ways(command, rulesOf(title))
      return found.length === 0 ? [] : [`${title}: ${command} [${found.join(', ')}]`]
    }),
  )
  expect(through).toEqual([])
  expect(groups.flatMap(({ commands }) => commands).length).toBeGreaterThanOrEqual(900)
  const programs = groups.map(({ title }) => /\(([\w.-]+)/.exec(title)?.[1])
  expect(new Set(programs).size).toBeGreaterThanOrEqual(60)
}, 60_000)

test('without the rules, commands with these spellings run', () => {
  const commands = groupsIn('spellings-denied').flatMap((group) => group.commands)
  expect(commands.filter((command) => judged(command, { cwd, allow: ['Bash'] }) !== 'allow')).toEqual([])
})

test('the rules do not affect unrelated commands', () => {
  const stopped = groupsIn('spellings-unrelated').flatMap(({ title, commands }) =>
    commands.flatMap((command) => {
      const behavior = judged(command, { cwd, allow: ['Bash'], ...rulesOf(title) })
      return behavior === 'allow' ? [] : [`${title}: ${command} [${behavior}]`]
    }),
  )
  expect(stopped).toEqual([])
})

test('rules about files apply to changes by git', () => {
  const groups = groupsIn('git-changes')
  const found = groups.flatMap(({ title, commands }) =>
    commands.flatMap((command) =>
      (['default', 'acceptEdits', 'bypassPermissions'] as const).flatMap((mode) => {
        const behavior = judged(command, { cwd, mode, allow: ['Bash'], deny: ['Edit(./src/**)'] })
        return behavior === title ? [] : [`${command}: ${behavior} in ${mode}, not ${title}`]
      }),
    ),
  )
  expect(found).toEqual([])
  // An ask rule applies to everything that is denied above.
  const named = groups.find(({ title }) => title === 'deny')?.commands ?? []
  const asked = named.filter((command) => judged(command, { cwd, allow: ['Bash'], ask: ['Edit(./src/**)'] }) !== 'ask')
  expect(asked).toEqual([])
  expect(named.length).toBeGreaterThan(30)
})

test('other rules do not apply to changes by git', () => {
  const known = groupsIn('git-changes')
    .flatMap((group) => group.commands)
    .filter((command) => !/\$|xargs/.test(command))
  const stopped = known.filter(
    (command) => judged(command, { cwd, allow: ['Bash'], deny: ['Bash(docker *)'] }) !== 'allow',
  )
  expect(stopped).toEqual([])
})

describe('aliases of git', () => {
  const withAliases = project('aliases')
  for (const [name, value] of [
    ['st', 'status -s'],
    ['up', 'push origin HEAD'],
    ['upup', 'up --quiet'],
    ['out', '!git push'],
    ['drop', 'reset --hard'],
    ['deep', 'deep'],
  ] as const)
    execFileSync('git', ['config', `alias.${name}`, value], { cwd: withAliases })
  const of = (command: string, deny: string): string =>
    judged(command, { cwd: withAliases, allow: ['Bash'], deny: [deny] })

  test.each([
    ['git st', 'Bash(git push *)', 'allow'],
    ['git -C sub st', 'Bash(git push *)', 'allow'],
    ['git up', 'Bash(git push *)', 'deny'],
    ['git UP', 'Bash(git push *)', 'deny'],
    ['git -C sub up', 'Bash(git push *)', 'deny'],
    ['git upup', 'Bash(git push *)', 'deny'],
    ['git out', 'Bash(git push *)', 'deny'],
    ['git upup', 'Bash(git push --quiet *)', 'deny'],
    ['git deep', 'Bash(git push *)', 'ask'],
    ['git unknown', 'Bash(git push *)', 'ask'],
    ['git unknown', 'Bash(git *)', 'deny'],
    ['git unknown', 'Bash(npm publish *)', 'allow'],
    ['GIT_CONFIG_GLOBAL=x git st', 'Bash(git push *)', 'ask'],
    ['HOME=. git st', 'Bash(git push *)', 'ask'],
    ['git -c include.path=x st', 'Bash(git push *)', 'ask'],
    ['git drop', 'Edit(./src/**)', 'ask'],
    ['git st', 'Edit(./src/**)', 'allow'],
  ])('%s under %s: %s', (command, rule, expected) => {
    expect(of(command, rule)).toBe(expected)
  })
})

test.each([
  ['git -C /elsewhere push', 'Bash(git push *)'],
  ['git -c core.sshCommand=./x push', 'Bash(git push *)'],
  ['git --exec-path=. push', 'Bash(git push)'],
  ['git --no-pager push', 'Bash(git push:*)'],
  ['/tmp/git push', 'Bash(git push *)'],
  ['git.exe push', 'Bash(git push *)'],
  ['GIT push', 'Bash(git push *)'],
  ['git-push', 'Bash(git push *)'],
  ['npm i x', 'Bash(npm install *)'],
  ['npm --prefix /elsewhere test', 'Bash(npm test *)'],
  ['npm run test', 'Bash(npm test *)'],
  ['npx x', 'Bash(npm exec *)'],
  ['docker --host x ps', 'Bash(docker ps *)'],
  ['docker container rm x', 'Bash(docker rm *)'],
  ['kubectl -n prod get pods', 'Bash(kubectl get *)'],
  ['kubectl get pods', 'Bash(kubectl get pod)'],
  ['make a test', 'Bash(make test *)'],
  ['apt-get install x', 'Bash(apt install *)'],
  ['rm x -rf', 'Bash(rm -rf *)'],
  ['rm -fr x', 'Bash(rm -rf *)'],
  ['python -m pip install x', 'Bash(pip install *)'],
  ['cargo +nightly build', 'Bash(cargo build *)'],
  ['cargo b', 'Bash(cargo build *)'],
  ['terraform -chdir=x plan', 'Bash(terraform plan *)'],
  ['yarn run build', 'Bash(yarn build *)'],
  ['git rm src/c.ts', 'Edit(./src/**)'],
])('allow rules do not become wider: %s is not allowed by %s', (command, rule) => {
  expect(judged(command, { cwd, allow: [rule] })).toBe('ask')
})
