import { relative } from 'node:path'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'

/** Formats paths relative to the working directory. */
export function pathFormatter({ cwd }: Pick<Program, 'cwd'>): (path: string) => string {
  return (path) => {
    const from = relative(cwd, path)
    // Control characters and line breaks are removed, because file names can contain them.
    return oneLine(from === '' || from.startsWith('..') ? path : from, 500)
  }
}
