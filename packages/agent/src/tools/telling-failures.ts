import { codeOf } from '@halting/core/adapters'
import type { ToolOutput } from '@halting/core'
import { NotWrittenError, PathMovedError } from '@halting/policy/files'
import { failed } from './result.ts'

/**
 * What the system refuses is told to the model in words, and not thrown. `doing` is what was tried, such as `written`; a path that has come to lead
 * elsewhere is told as it is.
 */
export async function tellingFailures(
  { path, doing }: { readonly path: string; readonly doing: 'read' | 'written' | 'searched' },
  work: () => Promise<ToolOutput>,
): Promise<ToolOutput> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof PathMovedError || thrown instanceof NotWrittenError) return failed(thrown.message)
    const code = codeOf(thrown)
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw thrown
    if (code === 'EACCES' || code === 'EPERM')
      return failed(`${shortPath(path)} may not be ${doing} by this user (${code}).`)
    return failed(`${shortPath(path)} could not be ${doing}: ${wordsFor(code)} (${code}).`)
  }
}

function wordsFor(code: string): string {
  return Object.hasOwn(words, code) ? (words[code] ?? '') : 'the system refused it'
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'it is gone, or no folder can be made there',
  ENOTDIR: 'what should be a folder of its path is a file',
  EISDIR: 'it is a directory',
  ELOOP: 'its links lead in a circle, or are too many',
  ENAMETOOLONG: 'its name or path is too long for the system',
  EROFS: 'it lies where nothing can be written',
  ENOSPC: 'there is no space left',
  EDQUOT: 'there is no space left for this user',
  EFBIG: 'it is too large for where it lies',
  EIO: 'the system cannot read there',
  EAGAIN: 'it has nothing to read now',
  EINVAL: 'the system takes no such name, or gives nothing there',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
}

const longestPath = 500

function shortPath(path: string): string {
  return path.length <= longestPath ? path : `${path.slice(0, 200)}[...]${path.slice(-200)}`
}
