import { relative } from 'node:path'
import type { Program } from '../program.ts'

/** Paths as a person reads them best: from where the person is. */
export function shownFrom({ cwd }: Pick<Program, 'cwd'>): (path: string) => string {
  return (path) => {
    const from = relative(cwd, path)
    return from === '' || from.startsWith('..') ? path : from
  }
}
