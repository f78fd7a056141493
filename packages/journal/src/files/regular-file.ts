import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

// Instead of a file there may be a pipe, whose reader blocks until another process writes, or an endless device, even if
// the path was a file shortly before.

const toRead = constants.O_RDONLY | constants.O_NONBLOCK

/** Opens a regular file for reading. @throws Error with the reason: a system error, or not a regular file. */
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

/** Like `openRegular`, but synchronous. */
export function openRegularSync(path: string): number {
  return openSizedSync(path).file
}

/** Like `openRegularSync`, with the current size of the file in bytes. */
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

/** Path of a pipe that a shell creates for `<(command)`; it ends with the command. */
const passedDescriptor = /^\/(?:dev|proc\/self)\/fd\/\d+$/

/**
 * Reads the text of a user-specified file or a settings file. Other pipes and devices are rejected, because they could
 * block the program forever.
 * @throws Error with the reason: a system error, not a regular file, or too large.
 */
export async function readBoundedFile(path: string, maxBytes: number): Promise<string> {
  const isPipe = passedDescriptor.test(path) && (await stat(path)).isFIFO()
  const file = await (isPipe ? open(path) : openRegular(path))
  try {
    return await readBounded(file, maxBytes)
  } finally {
    await file.close()
  }
}

/** Some kernel files can only be read in whole pages. */
const pageBytes = 4_096

/** Reads until the end: kernel files report size 0, so only the read bytes count. */
async function readBounded(file: FileHandle, maxBytes: number): Promise<string> {
  // The reported size is a first estimate, so that a small file takes little memory.
  const guess = Math.min((await file.stat()).size, maxBytes) + pageBytes
  let buffer = Buffer.allocUnsafe(guess)
  let size = 0
  for (;;) {
    if (size === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * size, maxBytes + pageBytes))
    const { bytesRead } = await file.read(buffer, size, buffer.length - size)
    if (bytesRead === 0) return buffer.toString('utf8', 0, size)
    size += bytesRead
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes / (1024 * 1024)} MB`)
  }
}
