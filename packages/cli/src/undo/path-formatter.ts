import { relative } from 'node:path'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'

/** Paths as a person reads them best: from where the person is. */
export function pathFormatter({ cwd }: Pick<Program, 'cwd'>): (path: string) => string {
  return (path) => {
    const from = relative(cwd, path)
    // Whoever made a file has named it: a name steers no terminal, and begins no line of its own.
    return oneLine(from === '' || from.startsWith('..') ? path : from, 500)
  }
}
