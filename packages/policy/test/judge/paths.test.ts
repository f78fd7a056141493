// Holds R-RULE-5 of docs/spec against misleading paths: each leads elsewhere, and neither a tool nor a command opens it.
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import { afterAll, expect, test } from 'vitest'
import { bashCall, judged } from './support.ts'
import { canary, isBubblewrapThere, makeWorld, removeWorld, runMany } from './world.ts'

const world = makeWorld()
const outerHome = process.env['HOME']
process.env['HOME'] = world.home
afterAll(() => {
  removeWorld(world)
  process.env['HOME'] = outerHome
})

/** Names as attackers choose them, each a link. */
function prepare(): void {
  const { root, project } = world
  const at = (name: string): string => join(project, 'made', name)
  mkdirSync(at('deep'), { recursive: true })
  const toX = [
    'abs',
    'é',
    'e\u0301',
    'ｅｎｖ',
    'trailing. ',
    'trailing.',
    ' space',
    '-',
    '--help',
    '*',
    '?',
    '[a]',
    '{a,b}',
    '~',
    '$HOME',
    'new',
    "quote'",
    'tab',
    'back\\slash',
    '...',
    'loopless',
  ]
  for (const name of toX) symlinkSync(join(root, 'outside/x'), at(name))
  const others: Readonly<Record<string, string>> = {
    one: 'two', two: 'three', three: '../../outside/x', 'deep/four': '../one', dot: './././one', self: '.', folder: '../link', root: '/',
    proc: '/proc/self/root', home: '../../home', tofolder: 'deep', env: '../.env', env2: 'env', key: '../secret/key', sec: '../secret', relative: '.././src/../.env', here: '..',
  } // prettier-ignore
  for (const [name, target] of Object.entries(others)) symlinkSync(target, at(name))
}
prepare()

const lines = readFileSync(new URL('corpus/paths.txt', import.meta.url), 'utf8').split('\n')
const from = lines.indexOf('== denied')
const isPath = (line: string): boolean => line !== '' && !line.startsWith('==') && !line.startsWith('//')
const corpusPaths = (line: string): string => line.replaceAll('@W', world.root)
const outside = lines.slice(0, from).filter(isPath).map(corpusPaths)
const denied = lines.slice(from).filter(isPath).map(corpusPaths)

const quoted = (path: string): string =>
  path.startsWith('~/') ? `~/'${path.slice(2)}'` : `'${path.replaceAll("'", String.raw`'\''`)}'`

function toolSays(name: 'Read' | 'Grep' | 'Edit', path: string, options: Partial<PermissionOptions>): string {
  const { call, tool } = bashCall('')
  const input = name === 'Grep' ? { path, pattern: '.' } : { file_path: path }
  const readOnly = name !== 'Edit'
  const request = { call: { ...call, name, input }, tool: { ...tool, name, readOnly }, readOnly }
  const decision = createPermissions({ cwd: world.project, ...options }).decide(request)
  return decision instanceof Promise ? 'later' : decision.behavior
}

/** Tools resolve `..` as text, and open the result. */
function isOpenedByTool(path: string): boolean {
  try {
    return canary.test(
      readFileSync(path.startsWith('~/') ? join(world.home, path.slice(2)) : resolve(world.project, path), 'utf8'),
    )
  } catch {
    return false
  }
}

test('the corpus has at least 150 paths', () => {
  expect(new Set([...outside, ...denied]).size).toBeGreaterThanOrEqual(150)
})

test.skipIf(!isBubblewrapThere)('each path leads outside (needs bubblewrap)', async () => {
  const paths = [...outside, ...denied]
  const found = await runMany(
    world,
    paths.map((path) => `cat -- ${quoted(path)}`),
  )
  expect(paths.filter((_, at) => !canary.test(found[at]!.printed))).toEqual([])
})

test('no path that leads outside is read or changed without asking', () => {
  const through = outside.filter(
    (path) =>
      (isOpenedByTool(path) &&
        (toolSays('Read', path, {}) === 'allow' ||
          toolSays('Grep', path, {}) === 'allow' ||
          toolSays('Edit', path, { mode: 'acceptEdits' }) === 'allow')) ||
      judged(`cat -- ${quoted(path)}`, { cwd: world.project }) === 'allow' ||
      judged(`head ${quoted(path)}`, { cwd: world.project, mode: 'acceptEdits' }) === 'allow' ||
      judged(`cat < ${quoted(path)}`, { cwd: world.project }) === 'allow' ||
      judged(`echo x > ${quoted(path)}`, { cwd: world.project, mode: 'acceptEdits' }) === 'allow',
  )
  expect(through).toEqual([])
})

test('no path that leads to a denied file is read, in any mode', () => {
  const deny = ['Read(.env)', 'Read(secret/**)']
  const through = denied.filter((path) =>
    (['default', 'acceptEdits', 'bypassPermissions'] as const).some(
      (mode) =>
        (isOpenedByTool(path) && toolSays('Read', path, { mode, deny, allow: ['Read'] }) === 'allow') ||
        judged(`cat -- ${quoted(path)}`, { cwd: world.project, mode, deny, allow: ['Bash'] }) === 'allow' ||
        judged(`cat < ${quoted(path)}`, { cwd: world.project, mode, deny, allow: ['Bash'] }) === 'allow',
    ),
  )
  expect(through).toEqual([])
})
