import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '@halting/core/adapters'

/**
 * Creates a folder and its missing parents. Node's `recursive` never ends, and cannot be aborted, if a file system
 * reports ENOENT although the parent exists, as `/proc` does.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if ((await makeOneFolder(path, mode)) === 'there') return
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent, mode)
  if ((await makeOneFolder(path, mode)) === 'there') return
  throw Object.assign(new Error(`ENOENT: no folder can be made, mkdir '${path}'`), { code: 'ENOENT' })
}

async function makeOneFolder(path: string, mode: number): Promise<'there' | 'no parent'> {
  try {
    await mkdir(path, { mode })
    return 'there'
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return 'there'
    if (codeOf(thrown) === 'ENOENT') return 'no parent'
    // Some systems reject creating the root of a disk, which exists.
    if (await isFolder(path)) return 'there'
    throw thrown
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
