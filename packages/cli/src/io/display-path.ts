import { relative } from 'node:path'

/** From the working directory where it lies below it. */
export function displayPath(path: string, cwd: string): string {
  if (!path.startsWith('/') || cwd === '') return path
  const from = relative(cwd, path)
  return from === '' ? '.' : from.startsWith('..') ? path : from
}
