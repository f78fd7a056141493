// Holds R-RULE-5a of docs/spec: a file with several names is denied under each of them.
import { execFileSync, spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sources } from '../../../../vitest.build.ts'
import { parseMounts } from '../../src/files/mounts.ts'
import { mountAliases, nameOnDisk } from '../../src/permissions/path-aliases.ts'
import { bashCall, judged } from './support.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-names-')))
  mkdirSync(at('project/secret/deep'), { recursive: true })
  mkdirSync(at('project/src'))
  mkdirSync(at('outside'))
  for (const name of ['project/.env', 'project/secret/deep/key', 'project/src/a.ts', 'outside/.env', 'outside/key'])
    writeFileSync(at(name), `it is ${name}\n`)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const deny = ['Read(.env)', 'Read(/secret/**)', 'Edit(/src/a.ts)']

function says(name: 'Read' | 'Edit', path: string, options: Partial<PermissionOptions> = {}): string {
  const { call, tool } = bashCall('')
  const request = {
    call: { ...call, name, input: { file_path: path } },
    tool: { ...tool, name },
    readOnly: name === 'Read',
  }
  const decision = createPermissions({ cwd: at('project'), deny, ...options }).decide(request)
  return decision instanceof Promise ? 'later' : decision.behavior
}

describe.each(['default', 'acceptEdits', 'bypassPermissions'] as const)('a hard link, in the mode %s', (mode) => {
  test.each([
    ['project/.env', 'project/notes.txt'],
    ['project/.env', 'project/src/deep.ts'],
    ['project/secret/deep/key', 'project/notes.txt'],
  ])('to %s cannot be read by %s', (denied, name) => {
    linkSync(at(denied), at(name))
    expect(says('Read', at(name), { mode })).toBe('deny')
    const options = { cwd: at('project'), deny, mode, allow: ['Bash'] }
    expect(judged(`cat '${at(name)}'`, options)).toBe('deny')
    expect(judged(`cat < '${at(name)}'`, options)).toBe('deny')
    expect(judged(`sort ${name.slice('project/'.length)}`, options)).toBe('deny')
  })

  test('to a file that must not be edited cannot be written', () => {
    linkSync(at('project/src/a.ts'), at('project/b.ts'))
    expect(says('Edit', at('project/b.ts'), { mode })).toBe('deny')
    expect(judged('echo x > b.ts', { cwd: at('project'), deny, mode, allow: ['Bash'] })).toBe('deny')
  })

  test('to another file can be read', () => {
    linkSync(at('project/src/a.ts'), at('project/b.ts'))
    linkSync(at('outside/key'), at('project/c.ts'))
    expect(says('Read', at('project/b.ts'), { mode })).toBe('allow')
    expect(says('Read', at('project/c.ts'), { mode })).toBe('allow')
  })
})

test('blocks searching a tree that contains a denied file under another name', () => {
  linkSync(at('project/.env'), at('project/src/notes.txt'))
  expect(judged('grep -r it src', { cwd: at('project'), deny })).not.toBe('allow')
})

describe('a folder that is mounted twice', () => {
  const known = parseMounts(
    [
      '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
      '30 22 8:1 /home/me/p/secret /home/me/p/docs rw shared:1 master:2 - ext4 /dev/sda1 rw',
      String.raw`31 22 8:1 /data /mnt/with\040space rw - ext4 /dev/sda1 rw`,
      '32 22 8:2 / /other rw - ext4 /dev/sdb1 rw',
      '',
    ].join('\n'),
  )

  test.each([
    ['/home/me/p/docs/key', ['/home/me/p/secret/key']],
    ['/home/me/p/secret/key', ['/home/me/p/docs/key']],
    ['/mnt/with space/x', ['/data/x']],
    ['/data', ['/mnt/with space']],
    ['/home/me/p/secretive', []],
    ['/other/data/x', []],
  ])('%s is also found as %j', (path, others) => {
    expect(mountAliases(path, known)).toEqual(others)
  })

  const canMount =
    process.platform === 'linux' &&
    spawnSync('unshare', ['--mount', '--map-root-user', 'mount', '--bind', '/tmp', '/tmp']).status === 0

  test.skipIf(!canMount)('is denied under its other name (needs unshare)', async () => {
    mkdirSync(at('project/docs'))
    const outfile = at('permissions.mjs')
    const entry = fileURLToPath(new URL('../../src/permissions/permissions.ts', import.meta.url))
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      alias: sources,
      logLevel: 'error',
    })
    const script = `
      const { createPermissions } = await import(process.argv[1])
      const call = { type: 'tool_use', id: 'a', name: 'Read', input: { file_path: '${at('project/docs/deep/key')}' } }
      const tool = { name: 'Read', description: '', inputSchema: {}, readOnly: true, execute: () => '' }
      const said = createPermissions({ cwd: '${at('project')}', deny: ['Read(/secret/**)'] }).decide({ call, tool, readOnly: true })
      const { readFileSync } = await import('node:fs')
      console.log(said.behavior, readFileSync(call.input.file_path, 'utf8').trim())`
    const command = `mount --bind '${at('project/secret')}' '${at('project/docs')}' && exec "$0" --input-type=module -e "$1" "$2"`
    const args = ['--mount', '--map-root-user', 'bash', '-c', command, process.execPath, script, outfile]
    expect(execFileSync('unshare', args, { encoding: 'utf8' })).toBe('deny it is project/secret/deep/key\n')
    expect(() => readFileSync(at('project/docs/deep/key'))).toThrow('ENOENT')
  })
})

describe('a case-insensitive file system', () => {
  const known = parseMounts('22 1 8:1 / / rw - ext4 /dev/sda1 rw\n')
  const folded = (): ReturnType<typeof parseMounts> => [
    ...known,
    { device: '0:50', root: '/', point: folder, type: '9p' },
  ]

  test('gives a path the names that its folders list', () => {
    expect(nameOnDisk(at('PROJECT/.ENV'), folded())).toBe(at('project/.env'))
    expect(nameOnDisk(at('project/Secret/DEEP/key'), folded())).toBe(at('project/secret/deep/key'))
    expect(nameOnDisk(at('project/none'), folded())).toBe(at('project/none'))
    expect(nameOnDisk(at('project/.ENV'), known)).toBe(at('project/.ENV'))
  })
})
