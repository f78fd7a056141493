import { relative } from 'node:path'

/** The path relative to the working directory, if it is inside it. */
export function displayPath(path: string, cwd: string): string {
  if (!path.startsWith('/') || cwd === '') return path
  const from = relative(cwd, path)
  return from === '' ? '.' : from.startsWith('..') ? path : from
}
