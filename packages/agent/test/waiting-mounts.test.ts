// Holds rules R-PLACE-7 and R-HAND-7c of docs/spec: a mount that does not answer holds nothing up.
import fs, { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expireMounts } from '@halting/policy/files'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { codingTools, type Harness } from './support/harness.ts'

/** A network mount below this folder, and its checks, which wait while it hangs. */
const network = {
  folder: `/tmp/halting-net-${process.pid}`,
  hangs: undefined as Promise<void> | undefined,
  looks: [] as string[],
  atOnce: [] as string[],
  isMounted: true,
}

const real = { ...fs, promises: { ...fs.promises } }

function isInNetwork(path: unknown): boolean {
  return typeof path === 'string' && path.startsWith(network.folder)
}

/** The packages are loaded by Node, so Node's own modules are patched. */
beforeAll(() => {
  const noted =
    <Rest extends unknown[], Result>(call: (path: string, ...rest: Rest) => Result) =>
    (path: string, ...rest: Rest): Result => {
      if (isInNetwork(path)) network.atOnce.push(path)
      return call(path, ...rest)
    }
  Object.assign(fs, {
    openSync: noted(real.openSync as (path: string, ...rest: unknown[]) => number),
    lstatSync: noted(real.lstatSync as (path: string, ...rest: unknown[]) => unknown),
    readFileSync: (path: string, ...rest: never[]) => {
      const text = real.readFileSync(path, ...rest)
      return path === '/proc/self/mountinfo' && network.isMounted
        ? `${String(text)}99 1 0:99 / ${network.folder} rw - nfs4 server:/ rw\n`
        : text
    },
  })
  Object.assign(fs.promises, {
    lstat: async (path: string, ...rest: never[]) => {
      if (isInNetwork(path)) {
        network.looks.push(path)
        await network.hangs
      }
      return real.promises.lstat(path, ...rest)
    },
  })
  syncBuiltinESMExports()
  // Entries that other tests left in the table.
  expireMounts()
})

afterAll(() => {
  const { openSync, lstatSync, readFileSync } = real
  Object.assign(fs, { openSync, lstatSync, readFileSync })
  Object.assign(fs.promises, { lstat: real.promises.lstat })
  syncBuiltinESMExports()
  expireMounts()
})

const note = '[Changed on disk since you saw it'

function seeing(files: number): { readonly harness: Harness; readonly read: (name: string) => Promise<string> } {
  const harness = codingTools()
  mkdirSync(network.folder)
  onTestFinished(() => rmSync(network.folder, { recursive: true }))
  for (let at = 0; at < files; at += 1) writeFileSync(join(network.folder, `f${at}`), 'one\n')
  for (const name of ['local', 'other']) writeFileSync(join(harness.cwd, name), 'one\n')
  const read = async (name: string): Promise<string> => (await harness.use('Read', { file_path: name })).text
  return { harness, read }
}

test.skipIf(process.platform !== 'linux')(
  'files read on a hanging mount block no call, occupy two threads at most, and are reported once it responds',
  async () => {
    const { harness, read } = seeing(20)
    await read('local')
    for (let at = 0; at < 20; at += 1) await read(join(network.folder, `f${at}`))
    expect(network.looks.length).toBeGreaterThan(20)
    let answer: () => void = () => undefined
    network.hangs = new Promise((resolve) => {
      answer = resolve
    })
    network.looks.length = 0
    for (let at = 0; at < 20; at += 1) writeFileSync(join(network.folder, `f${at}`), 'three\n')
    writeFileSync(join(harness.cwd, 'local'), 'three\n')
    network.atOnce.length = 0
    // A changed local file is reported meanwhile.
    expect(await read('other')).toContain(
      `${note}, not by your own file edits. Read it again before you rely on it.\nlocal:`,
    )
    for (let times = 0; times < 5; times += 1) expect(await read('other')).toBe('     1\tone')
    expect(network.looks.length).toBe(2)
    expect(network.atOnce).toEqual([])
    answer()
    network.hangs = undefined
    await vi.waitFor(async () => expect(await read('other')).toContain(note), { interval: 1 })
    expect(await read('other')).toBe('     1\tone')
    expect(network.atOnce).toEqual([])
  },
)

test.skipIf(process.platform !== 'linux')('a mount created by a command blocks no call', async () => {
  network.isMounted = false
  const { harness, read } = seeing(1)
  const file = join(network.folder, 'f0')
  await harness.use('Bash', { command: 'true' })
  await read(file)
  expect(network.atOnce.length).toBeGreaterThan(0)
  network.atOnce.length = 0
  // As if the command mounted it.
  network.isMounted = true
  await harness.use('Bash', { command: 'true' })
  expect(network.atOnce).toEqual([])
})
