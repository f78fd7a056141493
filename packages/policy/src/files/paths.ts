import { homeFolder } from '@halting/journal/files'
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { realPath, statOf } from './lookup-cache.ts'

export { homeFolder } from '@halting/journal/files'
export { realPath, statOf } from './lookup-cache.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The absolute form of a path that a model writes. Tools and permissions both use it, so that the checked path is the opened one. */
export function absolutePath(path: string, from: string): string {
  if (path === '~' || path.startsWith('~/')) return join(homeFolder(), path.slice(1))
  return resolve(from, path)
}

/**
 * The absolute form of a path as the kernel resolves it: the kernel follows a link before `..` leaves the link's target.
 * The text of the path alone does not show the result.
 */
export function kernelPath(path: string, from: string): string {
  const isHome = path === '~' || path.startsWith('~/')
  let place = isHome ? homeFolder() : isAbsolute(path) ? '/' : from
  for (const segment of (isHome ? path.slice(1) : path).split('/')) {
    if (segment === '' || segment === '.') continue
    place = segment === '..' ? dirname(realPath(place)) : join(place, segment)
  }
  return place
}

/**
 * A search path for programs without entries in a folder and without relative entries. Undefined if nothing remains: an empty search path would mean
 * the current folder.
 */
export function searchPathOutside(folder: string, path: string = ''): string | undefined {
  const own = bothEnds(folder)
  const isOutside = (place: string): boolean =>
    isAbsolute(place) && bothEnds(place).every((end) => !own.some((root) => isInside(end, root)))
  return path.split(delimiter).filter(isOutside).join(delimiter) || undefined
}

/** Whether the text is the exact path. Node replaces bytes that are not UTF-8, and half characters, by U+FFFD: such a text may stand for many paths. */
export function isExactPath(path: string): boolean {
  return !/[\uFFFD\p{Cs}]/u.test(path)
}

/** The path as named and its real path; only one entry if they are equal. */
export function bothEnds(path: string): readonly string[] {
  const real = realPath(path)
  return real === path ? [path] : [path, real]
}

/** True for the directory itself and everything below it. Both must be absolute and normalized. */
export function isInside(path: string, directory: string): boolean {
  if (!path.startsWith(directory)) return false
  return path.length === directory.length || directory.endsWith(sep) || path.charAt(directory.length) === sep
}

/** Removes duplicates and paths inside other ones. All must be absolute and normalized. */
export function outermost(paths: readonly string[]): readonly string[] {
  const unique = [...new Set(paths)]
  return unique.filter((path) => !unique.some((other) => other !== path && isInside(path, other)))
}

/** True if the path and its real path are both in one of the directories or their real paths. */
export function isInsideAny(path: string, directories: readonly string[]): boolean {
  const allowed = directories.flatMap(bothEnds)
  return bothEnds(path).every((end) => allowed.some((directory) => isInside(end, directory)))
}

/** The path for display: relative if it is below `from`. */
export function displayPath(path: string, from: string): string {
  if (path === from) return '.'
  return isInside(path, from) ? relative(from, path) : path
}

/** Whether a folder exists at the path, possibly through a link. */
export function isDirectory(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false
}
