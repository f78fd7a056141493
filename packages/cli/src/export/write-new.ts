import { randomUUID } from 'node:crypto'
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { messageOf } from '@halting/core/adapters'
import { UsageError } from '../usage-error.ts'

interface WriteOptions {
  /** The file as the person named it. */
  readonly shown: string
  readonly isForced: boolean
  /** Sessions that it is told from, none of which is written over. */
  readonly sources?: readonly string[]
}

/** A file that is there whole or not at all, for the person alone. What is there already stays, unless it is told to go. */
export async function writeNew(
  path: string,
  chunks: Iterable<string> | AsyncIterable<string>,
  { shown, isForced, sources = [] }: WriteOptions,
): Promise<void> {
  const there = await realpath(path).catch(() => undefined)
  const from = await Promise.all(sources.map((source) => realpath(source).catch(() => undefined)))
  if (there !== undefined && from.includes(there))
    throw new UsageError(`${shown} is the session itself. Name another file.`)
  const kind = await stat(path).catch(() => undefined)
  // A device or a pipe would give way to a file of that name.
  if (kind?.isFile() === false) throw new UsageError(`${shown} is no file. Without --output it is written to stdout.`)
  const refusal = (): UsageError => new UsageError(`${shown} is there already. Name another file, or add --force.`)
  if (there !== undefined && !isForced) throw refusal()
  // A file that is not there is made: nothing is written over one that came to be meanwhile.
  const target = isForced ? `${path}.${randomUUID()}.part` : path
  let handle: FileHandle | undefined
  try {
    handle = await open(target, 'wx', 0o600)
    for await (const chunk of chunks) await handle.appendFile(chunk)
    await handle.close()
    if (isForced) await rename(target, path)
  } catch (thrown) {
    if (handle === undefined && codeOf(thrown) === 'EEXIST') throw refusal()
    await handle?.close().catch(() => {})
    if (handle !== undefined) await rm(target, { force: true })
    throw new UsageError(`${shown} cannot be written: ${messageOf(thrown)}`)
  }
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
}
