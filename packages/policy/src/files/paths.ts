import { homeFolder } from '@halting/journal/files'
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { realPath, statOf } from './lookup-cache.ts'

export { homeFolder } from '@halting/journal/files'
export { realPath, statOf } from './lookup-cache.ts'

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The absolute form of a path as a model writes it. Tools and permissions both use this: what is checked is what is opened. */
export function absolutePath(path: string, from: string): string {
  if (path === '~' || path.startsWith('~/')) return join(homeFolder(), path.slice(1))
  return resolve(from, path)
}

/**
 * The absolute form of a path as the kernel reads it: a link is followed before `..` goes up from it, which the text of
 * the path alone does not tell.
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
 * The search path for programs without what lies in a folder, and without what counts from wherever somebody is. Undefined
 * for nothing: an empty one would be the folder itself.
 */
export function searchPathOutside(folder: string, path: string = ''): string | undefined {
  const own = bothEnds(folder)
  const isOutside = (place: string): boolean =>
    isAbsolute(place) && bothEnds(place).every((end) => !own.some((root) => isInside(end, root)))
  return path.split(delimiter).filter(isOutside).join(delimiter) || undefined
}

/**
 * Whether a path is the one that it was read from. Node puts U+FFFD in the place of bytes that are not UTF-8, and of half a character: such a text
 * stands for many paths, of which it names none, or another one.
 */
export function isExactPath(path: string): boolean {
  return !/[\uFFFD\p{Cs}]/u.test(path)
}

/** Both ends of a path: as it was named, and where it leads. One entry when they are the same. */
export function bothEnds(path: string): readonly string[] {
  const real = realPath(path)
  return real === path ? [path] : [path, real]
}

/** True for the directory itself and all below it. Both must be absolute and normal. */
export function isInside(path: string, directory: string): boolean {
  if (!path.startsWith(directory)) return false
  return path.length === directory.length || directory.endsWith(sep) || path.charAt(directory.length) === sep
}

/** Each path once, without those in another one of them. All must be absolute and normal. */
export function outermost(paths: readonly string[]): readonly string[] {
  const unique = [...new Set(paths)]
  return unique.filter((path) => !unique.some((other) => other !== path && isInside(path, other)))
}

/** True when both ends of the path lie in one of the directories, whose own ends both count. */
export function isInsideAny(path: string, directories: readonly string[]): boolean {
  const allowed = directories.flatMap(bothEnds)
  return bothEnds(path).every((end) => allowed.some((directory) => isInside(end, directory)))
}

/** The path as a person reads it best: relative where it lies below `from`. */
export function displayPath(path: string, from: string): string {
  if (path === from) return '.'
  return isInside(path, from) ? relative(from, path) : path
}

/** Whether a folder is there, also behind a link. */
export function isDirectory(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false
}
