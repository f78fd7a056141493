// Holds rules of docs/spec: R-STAND-16, R-STAND-17: a ledger that cannot be used is named, and no request is made.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { LedgerFile, LedgerProblem } from '../../src/budgets/ledger-file.ts'
import { opened, request, take, taken, tempFolder } from './support.ts'

const day = { per: 'day', usd: 10 } as const
const isRoot = process.getuid?.() === 0
const pathOf = (folder: string): string => join(folder, 'budgets', 'ledger.json')

/** Why the budgets cannot be opened. */
async function whyNot(folder: string, options: Parameters<typeof opened>[2] = {}): Promise<string> {
  const thrown: unknown = await opened(folder, [day], options).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(LedgerProblem)
  return thrown instanceof Error ? thrown.message.replaceAll(folder, '…') : ''
}

function withFolder(mode = 0o700): string {
  const folder = tempFolder()
  mkdirSync(join(folder, 'budgets'), { mode })
  return folder
}

describe('a ledger', () => {
  test.each([
    ['that is empty', '', 'it is empty'],
    ['of nothing but zeros', '\0'.repeat(300), 'it is not valid JSON'],
    ['that was cut', '{"version":1,"scopes":{"day"', 'it is not valid JSON'],
    ['that is a list', '[]', 'it is not a JSON object'],
    ['without a version', '{}', 'it has no version'],
    ['without its parts', '{"version":1}', '"scopes" is not what halting writes'],
    [
      'with a negative amount',
      JSON.stringify({
        version: 1,
        scopes: {
          day: { '2026-11-29': { limitNanos: null, leasedNanos: 0, spentNanos: -1, unknownNanos: 0, holders: 0 } },
        },
        reservations: [],
        correctable: [],
        waiters: [],
      }),
      '"scopes" is not what halting writes',
    ],
    [
      'of which reservations were taken out',
      JSON.stringify({
        version: 1,
        scopes: {
          day: { '2026-11-29': { limitNanos: null, leasedNanos: 5, spentNanos: 0, unknownNanos: 0, holders: 1 } },
        },
        reservations: [],
        correctable: [],
        waiters: [],
      }),
      'what is reserved is not the sum of its reservations',
    ],
  ])('is reported as damaged if it is %s', async (_, text, why) => {
    const folder = withFolder()
    writeFileSync(pathOf(folder), text, { mode: 0o600 })
    expect(await whyNot(folder)).toBe(
      `…/budgets/ledger.json is damaged: ${why}. Fix it, or remove it: then what was spent until now is not counted.`,
    )
    expect(readFileSync(pathOf(folder), 'utf8')).toBe(text)
  })

  test('of a newer version is left unchanged', async () => {
    const folder = withFolder()
    writeFileSync(pathOf(folder), '{"version":2}', { mode: 0o600 })
    expect(await whyNot(folder)).toBe(
      '…/budgets/ledger.json was written by a newer version of halting. Update this one.',
    )
  })

  test('is rejected if it is a link, a folder or a pipe', async () => {
    const link = withFolder()
    symlinkSync('/etc/passwd', pathOf(link))
    expect(await whyNot(link)).toContain('is a link')
    const directory = withFolder()
    mkdirSync(pathOf(directory))
    expect(await whyNot(directory)).toContain('is not a regular file')
    const pipe = withFolder()
    execFileSync('mkfifo', [pathOf(pipe)])
    expect(await whyNot(pipe)).toContain('is not a regular file')
  })

  test('is rejected if others may write it, or if it is read-only', async () => {
    const folder = tempFolder()
    await opened(folder, [day])
    chmodSync(pathOf(folder), 0o622)
    expect(await whyNot(folder)).toBe(
      '…/budgets/ledger.json can be written by other users. Run: chmod go-w "…/budgets/ledger.json"',
    )
    chmodSync(pathOf(folder), 0o400)
    expect(await whyNot(folder)).toBe('…/budgets/ledger.json is read-only. Run: chmod u+w "…/budgets/ledger.json"')
    chmodSync(pathOf(folder), 0o600)
    chmodSync(join(folder, 'budgets'), 0o777)
    expect(await whyNot(folder)).toContain('…/budgets can be written by other users')
    chmodSync(join(folder, 'budgets'), 0o500)
    expect(await whyNot(folder)).toContain('…/budgets is read-only')
    chmodSync(join(folder, 'budgets'), 0o700)
    await opened(folder, [day])
  })

  test.skipIf(!isRoot)('is rejected if someone else owns it', async () => {
    const folder = tempFolder()
    await opened(folder, [day])
    chownSync(pathOf(folder), 12345, 12345)
    expect(await whyNot(folder)).toContain('…/budgets/ledger.json belongs to another user (12345)')
  })

  test('is rejected if its folder is a file', async () => {
    const folder = tempFolder()
    writeFileSync(join(folder, 'budgets'), '')
    expect(await whyNot(folder)).toContain('…/budgets is not a folder')
  })

  test.each([
    [0x6969, 'NFS'],
    [-0x00acb2be, 'CIFS'],
    [0x01021997, '9P'],
  ])('is rejected on a network mount: %i', async (type, name) => {
    expect(await whyNot(tempFolder(), { system: { statfs: () => ({ type }) } })).toContain(
      `is on a network mount (${name})`,
    )
  })

  test('is rejected on a FUSE mount, unless the mount is known to be local', async () => {
    // Mounts known to the test are not FUSE: the system does not report the folder as a local kind of it.
    const why = await whyNot(tempFolder(), { system: { statfs: () => ({ type: 0x65735546 }) } })
    expect(why).toMatch(/is on a network mount \([\w.]+\)/)
  })

  test('on a full disk keeps its last content, and nothing half written', async () => {
    const folder = tempFolder()
    const { standing } = await opened(folder, [day])
    const before = readFileSync(pathOf(folder), 'utf8')
    const full = (): number => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    }
    expect(await whyNot(folder, { system: { write: full } })).toBe(
      'The ledger of the budgets in …/budgets cannot be written: the disk is full (ENOSPC). Free some space.',
    )
    expect(readFileSync(pathOf(folder), 'utf8')).toBe(before)
    expect(readdirSync(join(folder, 'budgets'))).toEqual(['ledger.json'])
    expect(taken(take(standing, request(1))).usd).toBe(1)
  })

  test('that the system writes in small parts is written completely', async () => {
    const folder = tempFolder()
    const slow = (file: number, bytes: Buffer): number => writeSync(file, bytes, 0, Math.min(7, bytes.length))
    const { standing } = await opened(folder, [day], { system: { write: slow } })
    taken(take(standing, request(1)))
    expect(new LedgerFile(join(folder, 'budgets')).read().reservations).toHaveLength(1)
  })

  test('is rejected if its lock is something else', async () => {
    const folder = tempFolder()
    await opened(folder, [day])
    writeFileSync(join(folder, 'budgets', 'ledger.lock'), '')
    expect(await whyNot(folder)).toContain('…/budgets/ledger.lock is not a lock. Remove it.')
  })
})

test.skipIf(!isRoot)(
  'a disk that is really full allows no request, and the reservation is returned once there is room',
  async () => {
    const folder = tempFolder()
    try {
      execFileSync('sh', ['-c', `mount -t tmpfs -o size=32k,mode=0700 tmpfs ${folder}`], { stdio: 'ignore' })
    } catch {
      // Nothing can be mounted here; the test above fakes it.
      return
    }
    onTestFinished(() => void execFileSync('sh', ['-c', `umount -l ${folder}`]))
    const { standing, file } = await opened(folder, [day])
    const first = taken(take(standing, request(8)))
    const filler = join(folder, 'filler')
    try {
      writeFileSync(filler, Buffer.alloc(1024 * 1024))
    } catch {
      // Until it is full.
    }
    expect(() => take(standing, request(1))).toThrow(HaltingError)
    expect(() => take(standing, request(1))).toThrow(/the disk is full \(ENOSPC\).*--ignore-standing-budgets/)
    first.settle(2, true)
    expect(file.read().reservations).toHaveLength(1)
    writeFileSync(filler, '')
    expect(taken(take(standing, request(8))).usd).toBe(8)
    expect(file.read().reservations).toHaveLength(1)
  },
)

test('in the middle of a run it is an error of the request, and the reservation stays', async () => {
  const folder = tempFolder()
  const { standing, file } = await opened(folder, [day])
  const first = taken(take(standing, request(8)))
  const good = readFileSync(pathOf(folder))
  writeFileSync(pathOf(folder), 'no ledger')
  expect(() => take(standing, request(1))).toThrow(HaltingError)
  first.settle(1, true)
  writeFileSync(pathOf(folder), good)
  expect(taken(take(standing, request(9))).usd).toBe(9)
  expect(file.read()).toMatchObject({ reservations: [{ nanos: 9e9 }] })
})

describe('when the user ignores standing budgets', () => {
  test('nothing is refused, and spending is counted', async () => {
    const { standing, file } = await opened(tempFolder(), [day], { ignored: true })
    taken(take(standing, request(50))).settle(40, true)
    expect(taken(take(standing, request(50))).usd).toBe(50)
    expect(Object.values(file.read().scopes['day'] ?? {})).toMatchObject([{ spentNanos: 40e9, leasedNanos: 90e9 }])
  })

  test('an unwritable ledger is reported once', async () => {
    const folder = withFolder()
    writeFileSync(pathOf(folder), 'no ledger', { mode: 0o600 })
    const said: string[] = []
    const { standing } = await opened(folder, [day], { ignored: true, onUncounted: (why) => said.push(why) })
    taken(take(standing, request(50))).settle(40, true)
    taken(take(standing, request(50))).settle(40, false)
    expect(said).toHaveLength(1)
    expect(said[0]).toContain('is damaged')
    expect(readFileSync(pathOf(folder), 'utf8')).toBe('no ledger')
  })

  test('a model without a price is not counted', async () => {
    const options = { ignored: true, isPriced: (model: string) => model !== 'local' }
    const { standing } = await opened(tempFolder(), [day], options)
    expect([standing.countsFor('local'), standing.countsFor('other')]).toEqual([false, true])
    const strict = await opened(tempFolder(), [day], { isPriced: () => false })
    expect(strict.standing.countsFor('local')).toBe(true)
  })
})

test('a copy of the file under another name, or a second link to it, changes nothing', async () => {
  const folder = tempFolder()
  const { standing } = await opened(folder, [day])
  linkSync(pathOf(folder), join(folder, 'budgets', 'copy'))
  taken(take(standing, request(1)))
  expect(lstatSync(pathOf(folder)).nlink).toBe(1)
  renameSync(join(folder, 'budgets', 'copy'), join(folder, 'budgets', 'other'))
  expect(taken(take(standing, request(9))).usd).toBe(9)
})
