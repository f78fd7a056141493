import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

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
