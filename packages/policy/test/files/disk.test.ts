// Synchronous calls and calls of the thread pool have the same results.
import { constants, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Disk, localDisk, type OpenFile, threadPoolDisk } from '../../src/files/disk.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-disk-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)

type Step =
  | { readonly kind: 'read'; readonly length: number; readonly position: number | null }
  | { readonly kind: 'all' | 'stat' | 'close' }

const length = fc.constantFrom(0, 1, 10, 65_536, 262_144, 262_145, 400_000)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), length, position: fc.option(fc.nat(500_000)) }),
  fc.record({ kind: fc.constantFrom('all' as const, 'stat' as const) }),
  fc.record({ kind: fc.constant('close' as const) }),
)

async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work()
  } catch (thrown) {
    return `failed: ${(thrown as { code?: string }).code}`
  }
}

async function perform(file: OpenFile, doing: Step): Promise<unknown> {
  if (doing.kind === 'read') {
    const buffer = Buffer.alloc(doing.length)
    const { bytesRead } = await file.read(buffer, 0, doing.length, doing.position)
    return [bytesRead, buffer.toString('base64')]
  }
  if (doing.kind === 'all') return (await file.readFile()).toString('base64')
  if (doing.kind === 'stat') return (await file.stat()).size
  await file.close()
  return 'closed'
}

test('both disks read a file the same, in any order of reads', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 1_000, 262_144, 300_000),
      fc.array(step, { maxLength: 6 }),
      async (size, steps) => {
        writeFileSync(at('file'), Buffer.from(Array.from({ length: size }, (_, index) => index % 251)))
        const results: unknown[][] = []
        for (const disk of [localDisk, threadPoolDisk]) {
          const file = await disk.open(at('file'), constants.O_RDONLY)
          const one: unknown[] = []
          for (const each of steps) one.push(await outcome(() => perform(file, each)))
          await file.close()
          results.push(one)
        }
        expect(results[0]).toEqual(results[1])
      },
    ),
    { numRuns: 25 },
  )
})

test('both disks write everything, in several pieces and beyond one chunk', async () => {
  for (const disk of [localDisk, threadPoolDisk])
    for (const sizes of [[0], [10, 20], [262_144, 1], [300_000, 300_000]]) {
      rmSync(at('new'), { force: true })
      const file = await disk.open(at('new'), constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o640)
      const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1))
      for (const piece of pieces) await file.writeFile(piece)
      await file.chmod(0o600)
      await file.sync()
      expect((await file.stat()).mode & 0o777).toBe(0o600)
      await file.close()
      expect(readFileSync(at('new')).equals(Buffer.concat(pieces))).toBe(true)
    }
})

test('both disks report the same errors in the same words', async () => {
  mkdirSync(at('folder'))
  symlinkSync('nowhere', at('link'))
  const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_CREAT, O_EXCL, O_WRONLY } = constants
  const tries: readonly ((disk: Disk) => Promise<unknown>)[] = [
    (disk) => disk.open(at('none'), O_RDONLY),
    (disk) => disk.open(at('link'), O_RDONLY | O_NOFOLLOW),
    (disk) => disk.open(at('link/x'), O_RDONLY | O_DIRECTORY),
    (disk) => disk.open(at('folder'), O_CREAT | O_EXCL | O_WRONLY),
    (disk) => disk.open('/\0', O_RDONLY),
    (disk) => disk.lstat(at('none')),
    (disk) => disk.mkdir(at('folder')),
    (disk) => disk.rename(at('none'), at('other')),
    (disk) => disk.rm(at('none')),
    (disk) => disk.rm(at('none'), { force: true }),
  ]
  for (const attempt of tries) {
    const [one, other] = await Promise.all([localDisk, threadPoolDisk].map((disk) => words(attempt(disk))))
    expect(one).toBe(other)
  }
})

async function words(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (thrown: unknown) => String(thrown),
  )
}

test('a file that is being closed keeps its descriptor while the pool reads it', async () => {
  writeFileSync(at('large'), Buffer.alloc(2_000_000, 7))
  writeFileSync(at('other'), Buffer.alloc(2_000_000, 9))
  const file = await localDisk.open(at('large'), constants.O_RDONLY)
  const buffer = Buffer.alloc(2_000_000)
  const reading = file.read(buffer, 0, buffer.length)
  const closing = file.close()
  // Otherwise it would get the free descriptor.
  const other = await localDisk.open(at('other'), constants.O_RDONLY)
  const { bytesRead } = await reading
  await Promise.all([closing, other.close()])
  expect(buffer.subarray(0, bytesRead).every((byte) => byte === 7)).toBe(true)
  expect(file.fd).toBe(-1)
  await expect(file.read(buffer, 0, 1)).rejects.toMatchObject({ code: 'EBADF' })
})
