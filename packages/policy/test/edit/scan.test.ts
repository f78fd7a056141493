import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type FolderScan, FolderScanner } from '../../src/sandbox/folder-scan.ts'

/** A folder whose last change is long enough ago. */
async function projectWith(folders: readonly string[]): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'halting-scan-'))
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true })
  await wait(120)
  return root
}

const sorted = ({ folders, controlFiles: obeyed, bare, sockets, packages, isComplete }: FolderScan): unknown => ({
  folders: folders.toSorted(),
  obeyed: [...obeyed].toSorted(([left], [right]) => (left < right ? -1 : 1)),
  bare: [...bare],
  sockets,
  packages,
  isComplete,
})

test('returns the last scan as long as no folder has changed', async () => {
  const root = await projectWith(['a/.git', 'b/c'])
  const scanner = new FolderScanner()
  const before = scanner.scan([root])
  expect(scanner.scan([root])).toBe(before)
  expect(scanner.scan([root], before.folders)).toBe(before)
  writeFileSync(join(root, 'b/c/file'), '')
  const after = scanner.scan([root], before.folders)
  expect(after).not.toBe(before)
  expect(sorted(after)).toEqual(sorted(before))
  await wait(120)
  const next = scanner.scan([root])
  expect(scanner.scan([root], next.folders)).toBe(next)
  rmSync(root, { recursive: true })
})

const changes: readonly (readonly [name: string, change: (root: string) => void])[] = [
  ['a repository was made', (root) => mkdirSync(join(root, 'b/c/.git'))],
  [
    'one was put in the place of another',
    (root) => {
      renameSync(join(root, 'a/.git'), join(root, 'a/old'))
      mkdirSync(join(root, 'a/.git'))
    },
  ],
  [
    'a link leads elsewhere',
    (root) => {
      rmSync(join(root, 'b/.envrc'))
      symlinkSync('/elsewhere', join(root, 'b/.envrc'))
    },
  ],
  ['a folder was moved', (root) => renameSync(join(root, 'b/c'), join(root, 'c'))],
  [
    'a folder was put in the place of another, with its times',
    (root) => {
      mkdirSync(join(root, 'other/.git'), { recursive: true })
      renameSync(join(root, 'b/c'), join(root, 'b/d'))
      renameSync(join(root, 'other'), join(root, 'b/c'))
      utimesSync(join(root, 'b/c'), 1, 1)
    },
  ],
  [
    'the time of a folder was set back',
    (root) => {
      mkdirSync(join(root, 'b/c/.git'))
      utimesSync(join(root, 'b/c'), 1, 1)
    },
  ],
  ['a folder became a virtual environment', (root) => writeFileSync(join(root, 'b/pyvenv.cfg'), '')],
  ['a folder is gone', (root) => rmSync(join(root, 'b'), { recursive: true })],
]

test.each(changes)('finds the same as a fresh scanner when %s', async (_, change) => {
  const root = await projectWith(['a/.git', 'b/c/d'])
  symlinkSync('/nowhere', join(root, 'b/.envrc'))
  await wait(120)
  const scanner = new FolderScanner()
  const before = scanner.scan([root])
  expect(scanner.scan([root])).toBe(before)
  change(root)
  const after = scanner.scan([root], before.folders)
  expect(sorted(after)).toEqual(sorted(new FolderScanner().scan([root], before.folders)))
  await wait(120)
  for (let count = 0; count < 3; count += 1)
    expect(sorted(scanner.scan([root]))).toEqual(sorted(new FolderScanner().scan([root])))
  rmSync(root, { recursive: true })
})

test.skipIf(process.getuid?.() === 0)('reads a folder that could not be read before', async () => {
  const root = await projectWith(['a/b/.git'])
  chmodSync(join(root, 'a/b'), 0)
  await wait(120)
  const scanner = new FolderScanner()
  expect(scanner.scan([root]).controlFiles.size).toBe(0)
  chmodSync(join(root, 'a/b'), 0o700)
  expect(scanner.scan([root]).controlFiles.size).toBe(1)
  rmSync(root, { recursive: true })
})
