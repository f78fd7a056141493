// Holds R-PLACE-7 of docs/spec: the mounts decide which paths may block.
import { array, assert, constantFrom, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { LocalMounts } from '../../src/files/mounts.ts'

const line = (point: string, type: string): string =>
  `36 35 98:0 / ${point} rw,noatime shared:1 master:2 - ${type} source rw\n`
const root = line('/', 'ext4')

function localIn(table: string): (path: string) => boolean {
  const mounts = new LocalMounts(
    () => table,
    () => 0,
  )
  return (path) => mounts.isOnLocalMount(path)
}

test.each([
  'nfs',
  'nfs4',
  'cifs',
  'smb3',
  '9p',
  'fuse.sshfs',
  'fuseblk',
  'autofs',
  'ceph',
  'virtiofs',
  'proc',
  'what-comes',
])('a mount of the type %s may block, and so may everything mounted below it', (type) => {
  const isLocal = localIn(root + line('/net', type) + line('/net/disk', 'ext4') + line('/other', 'tmpfs'))
  expect(['/net', '/net/a', '/net/disk/a'].filter(isLocal)).toEqual([])
  expect(['/network', '/other/net', '/', '/a'].filter((path) => !isLocal(path))).toEqual([])
})

test('a hidden mount may still block', () => {
  const isLocal = localIn(root + line('/net', 'nfs') + line('/net', 'ext4'))
  expect(isLocal('/net/a')).toBe(false)
})

test('a name with spaces and line ends is read correctly', () => {
  const isLocal = localIn(root + line(String.raw`/my\040net\012\134x`, 'nfs'))
  expect(isLocal('/my net\n\\x/a')).toBe(false)
  expect(isLocal(String.raw`/my\040net/a`)).toBe(true)
})

test('anything may block if the table is missing, empty or has an invalid line', () => {
  for (const table of ['', '\n', `${root}what is this\n`, 'no table']) expect(localIn(table)('/a')).toBe(false)
})

test('a path that is not absolute, or contains a replacement character, may block', () => {
  const isLocal = localIn(root)
  expect(['a', '', 'C:\\a', '/a\uFFFD', '/a\uD800'].filter(isLocal)).toEqual([])
})

test('a mount change is noticed within a second, and the table is not read more often', () => {
  const now = { ms: 5, table: root, reads: 0 }
  const mounts = new LocalMounts(
    () => {
      now.reads += 1
      return now.table
    },
    () => now.ms,
  )
  expect(mounts.isOnLocalMount('/net/a')).toBe(true)
  now.table = root + line('/net', 'nfs')
  now.ms += 999
  for (let times = 0; times < 100; times += 1) mounts.isOnLocalMount('/net/a')
  expect(now.reads).toBe(1)
  now.ms += 1
  expect(mounts.isOnLocalMount('/net/a')).toBe(false)
  now.table = root
  now.ms += 1_000
  expect(mounts.isOnLocalMount('/net/a')).toBe(true)
})

test('the answer about a path changes with the mount table', () => {
  const path = array(constantFrom('a', 'b', 'ab'), { maxLength: 4 }).map((names) => `/${names.join('/')}`)
  const mount = record({ point: path, type: constantFrom('ext4', 'tmpfs', 'nfs') })
  assert(
    property(array(mount, { maxLength: 6 }), array(path, { minLength: 1, maxLength: 30 }), (list, paths) => {
      const isLocal = localIn(root + list.map(({ point, type }) => line(point, type)).join(''))
      for (const each of [...paths, ...paths]) {
        const parents = each.split('/').map((_, at, names) => names.slice(0, at + 1).join('/') || '/')
        const mayWait = list.some(({ point, type }) => type === 'nfs' && parents.includes(point))
        expect(isLocal(each)).toBe(!mayWait)
      }
    }),
  )
})

test('a mount is noticed at once after a command', () => {
  let table = root
  const mounts = new LocalMounts(
    () => table,
    () => 5,
  )
  expect(mounts.isOnLocalMount('/net/a')).toBe(true)
  table = root + line('/net', 'nfs')
  expect(mounts.isOnLocalMount('/net/a')).toBe(true)
  mounts.expire()
  expect(mounts.isOnLocalMount('/net/a')).toBe(false)
})
