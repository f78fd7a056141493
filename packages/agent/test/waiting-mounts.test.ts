// Holds rules R-PLACE-7 and R-HAND-7c of docs/spec.md: a mount that does not answer holds nothing up.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { codingTools, type Harness } from './support/harness.ts'

/** A mount of a network below this folder, and what looks at it wait for while it hangs. */
const network = vi.hoisted(() => ({
  folder: `/tmp/halting-net-${process.pid}`,
  hangs: undefined as Promise<void> | undefined,
  looks: [] as string[],
  atOnce: [] as string[],
}))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  const noted =
    <Rest extends unknown[], Result>(call: (path: string, ...rest: Rest) => Result) =>
    (path: string, ...rest: Rest): Result => {
      if (path.startsWith(network.folder)) network.atOnce.push(path)
      return call(path, ...rest)
    }
  return {
    ...real,
    openSync: noted(real.openSync as (path: string, ...rest: unknown[]) => number),
    lstatSync: noted(real.lstatSync as (path: string, ...rest: unknown[]) => unknown),
    readFileSync: (path: string, ...rest: never[]) => {
      const text = real.readFileSync(path, ...rest)
      return path === '/proc/self/mountinfo'
        ? `${String(text)}99 1 0:99 / ${network.folder} rw - nfs4 server:/ rw\n`
        : text
    },
  }
})

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return {
    ...real,
    lstat: async (path: string, ...rest: never[]) => {
      if (path.startsWith(network.folder)) {
        network.looks.push(path)
        await network.hangs
      }
      return real.lstat(path, ...rest)
    },
  }
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
  'what was read on a mount that hangs holds no call up, takes two threads at most, and is told once it answers',
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
    // A local file that changed is told meanwhile.
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
