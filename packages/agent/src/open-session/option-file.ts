import { resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { readBoundedFile } from '@halting/journal/files'

/** Maximum file size, equal to the limit of stdin: more than any model reads. */
const largestBytes = 10 * 1024 * 1024

/**
 * Returns the text of a file that an option names, without byte order mark.
 * @param takes What the option accepts, such as `--script takes a file`.
 * @throws ConfigurationError if the path is not a file, not readable, or larger than 10 MB.
 */
export async function readOptionFile(path: string, cwd: string, takes: string): Promise<string> {
  try {
    return (await readBoundedFile(resolve(cwd, path), largestBytes)).replace(/^\uFEFF/, '')
  } catch (thrown) {
    throw new ConfigurationError(`${takes}; "${path}" cannot be read: ${messageOf(thrown)}.`)
  }
}
