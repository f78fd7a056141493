import { open, realpath, stat } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { FailedError } from '../failed-error.ts'
import { UsageError } from '../usage-error.ts'
import { DraftFile } from './draft.ts'

interface WriteOptions {
  /** The file name as the user typed it. */
  readonly displayName: string
  readonly isForced: boolean
  /** Session files that the content comes from; none of them is overwritten. */
  readonly sources?: readonly string[]
}

/**
 * Writes a file atomically, readable only by the user; a signal leaves no partial file. An existing file is replaced
 * only with `isForced`.
 * @throws UsageError if the file must not be written there, and FailedError if writing fails
 */
export async function writeNewFile(
  path: string,
  chunks: Iterable<string> | AsyncIterable<string>,
  { displayName, isForced, sources = [] }: WriteOptions,
): Promise<void> {
  const existingPath = await realpath(path).catch(() => undefined)
  const sourcePaths = await Promise.all(sources.map((source) => realpath(source).catch(() => undefined)))
  if (existingPath !== undefined && sourcePaths.includes(existingPath))
    throw new UsageError(`${displayName} is the session itself. Name another file.`)
  const kind = await stat(path).catch(() => undefined)
  if (kind?.isDirectory() === true) throw new UsageError(`${displayName} is a folder. Name a file.`)
  // A rename would replace a device or a pipe.
  if (kind?.isFile() === false) throw new UsageError(`${displayName} is not a regular file. Name another file.`)
  const isThere = `${displayName} already exists. Name another file, or add --force to replace it.`
  if (existingPath !== undefined && !isForced) throw new UsageError(isThere)
  const draft = new DraftFile(path)
  try {
    const handle = await open(draft.path, 'wx', 0o600).catch((thrown: unknown) => {
      throw new UsageError(`${displayName} cannot be written: ${messageOf(thrown)}`)
    })
    try {
      for await (const chunk of chunks) await handle.appendFile(chunk)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (isForced) draft.replace()
    else if (!draft.place()) throw new UsageError(isThere)
  } catch (thrown) {
    throw isExpectedError(thrown) ? new FailedError(`${displayName} was not written: ${messageOf(thrown)}`) : thrown
  } finally {
    draft.remove()
  }
}

/** Errors of reading sessions and of the file system. */
function isExpectedError(thrown: unknown): boolean {
  return thrown instanceof HaltingError || (thrown instanceof Error && 'syscall' in thrown)
}
