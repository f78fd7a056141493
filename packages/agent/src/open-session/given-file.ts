import { resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { boundedFile } from '@halting/journal/files'

/** As much as stdin may bring: more than any model reads. */
const largestBytes = 10 * 1024 * 1024

/**
 * The text of a file that an option names, without the mark of its encoding.
 * @param takes What the option takes, such as `--script takes a file`.
 * @throws ConfigurationError for what is no file, cannot be read, or is larger than 10 MB.
 */
export async function givenFile(path: string, cwd: string, takes: string): Promise<string> {
  try {
    return (await boundedFile(resolve(cwd, path), largestBytes)).replace(/^\uFEFF/, '')
  } catch (thrown) {
    throw new ConfigurationError(`${takes}; "${path}" cannot be read: ${messageOf(thrown)}.`)
  }
}
