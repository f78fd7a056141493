import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { isDeep, isWhole } from './deep.ts'

export const many: number = isWhole ? 1_000_000 : 100_000
const memory = '/dev/shm'

/** A file system with enough inodes. */
function place(): string | undefined {
  return [memory, tmpdir()].find((folder) => fs.existsSync(folder) && fs.statfsSync(folder).ffree > many * 1.2)
}

/** The folder for them; undefined if these tests are not run, or if there is no room. */
export function placeForMany(): string | undefined {
  const base = isDeep ? place() : undefined
  if (isDeep && base === undefined)
    console.warn(`skipped: there are no inodes for ${many} files in ${memory} or ${tmpdir()}`)
  return base
}

/** Creates a folder in which `d` has that many files. */
export function manyFilesIn(base: string): string {
  const cwd = fs.mkdtempSync(join(base, 'halting-million-'))
  const folder = join(cwd, 'd')
  fs.mkdirSync(folder)
  // Hard links are enough, and quickly created. A file system allows this many for one file.
  const most = 30_000
  for (let at = 0; at < many; at++) {
    const name = join(folder, `f${at}`)
    if (at % most === 0) fs.writeFileSync(name, '')
    else fs.linkSync(join(folder, `f${at - (at % most)}`), name)
  }
  return cwd
}

const maxMb = 200

/** Runs something with little memory. */
export async function bounded<T>(work: () => Promise<T>): Promise<T> {
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => void (peak = Math.max(peak, process.memoryUsage.rss())), 20)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    peak = Math.max(peak, process.memoryUsage.rss())
    expect((peak - before) / 2 ** 20).toBeLessThan(maxMb)
  }
}
