import { resolve } from 'node:path'
import { boundedFile } from '@halting/journal/files'
import { messageOf } from '@halting/core/adapters'
import { UsageError } from '../usage-error.ts'

/** As much as stdin may bring: more than any model reads. */
const largestBytes = 10 * 1024 * 1024

/**
 * The text of a file that a flag names, without the mark of its encoding.
 * @param takes What the flag takes, such as `a file that can be read`.
 * @throws UsageError for what is no file, cannot be read, or is larger than 10 MB.
 */
export async function givenFile(path: string, cwd: string, takes: string): Promise<string> {
  try {
    return (await boundedFile(resolve(cwd, path), largestBytes)).replace(/^\uFEFF/, '')
  } catch (thrown) {
    throw new UsageError(`${takes}; "${path}" cannot be read: ${messageOf(thrown)}.`)
  }
}
