import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

// In the place of a file may stand a pipe, whose reader waits for who writes it, or a device that never ends; also where a file stood a moment ago.

const toRead = constants.O_RDONLY | constants.O_NONBLOCK

/** Opens a file to read it. @throws Error that says why not: what the system says, or that it is not a regular file. */
export async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, toRead)
  try {
    checkRegular(await file.stat())
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The same, at once. */
export function openRegularSync(path: string): number {
  return openSizedSync(path).file
}

/** The same, with the size of the file at this moment, in bytes. */
export function openSizedSync(path: string): { readonly file: number; readonly size: number } {
  const file = openSync(path, toRead)
  try {
    const stats = fstatSync(file)
    checkRegular(stats)
    return { file, size: stats.size }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function checkRegular(stats: Stats): void {
  if (!stats.isFile()) throw new Error('it is not a regular file')
}

/** What a shell hands in for `<(command)`: a pipe to which that command writes, and which ends with it. */
const handedIn = /^\/(?:dev|proc\/self)\/fd\/\d+$/

/**
 * The text of a file that a person named, or that stands where settings stand. Any other pipe, or a device, in its place would hold the program up, or never end.
 * @throws Error that says why not: what the system says, that it is not a regular file, or that it is too large.
 */
export async function boundedFile(path: string, mostBytes: number): Promise<string> {
  const isPipe = handedIn.test(path) && (await stat(path)).isFIFO()
  const file = await (isPipe ? open(path) : openRegular(path))
  try {
    return await readBounded(file, mostBytes)
  } finally {
    await file.close()
  }
}

/** Some files of the kernel are read in whole pages only. */
const pageBytes = 4_096

/** Files of the kernel say that they are empty and never end: the size is what came. */
async function readBounded(file: FileHandle, mostBytes: number): Promise<string> {
  // The size that it says is a first guess, so that a small file takes little memory.
  const guess = Math.min((await file.stat()).size, mostBytes) + pageBytes
  let buffer = Buffer.allocUnsafe(guess)
  let size = 0
  for (;;) {
    if (size === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * size, mostBytes + pageBytes))
    const { bytesRead } = await file.read(buffer, size, buffer.length - size)
    if (bytesRead === 0) return buffer.toString('utf8', 0, size)
    size += bytesRead
    if (size > mostBytes) throw new Error(`it is larger than ${mostBytes / (1024 * 1024)} MB`)
  }
}
