import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { isInside, realPath } from '../files/paths.ts'

const maxLinks = 40

/**
 * Whether a link that lies in one of the directories leads a path to outside of all of them. Commands write these directories:
 * what such a path leads to is chosen by them, not by the person who named the path.
 */
export function leadsOutside(path: string, directories: readonly string[]): boolean {
  const end = realPath(path)
  if (end === path) return false
  const roots = [...new Set(directories.map(realPath))]
  const isIn = (place: string): boolean => roots.some((root) => isInside(place, root))
  return !isIn(end) && linksOn(path).some(isIn)
}

/** Of the directories of a session those that a link in another one leads out of it. */
export function directoriesLeadingOutside(directories: readonly string[]): readonly string[] {
  return directories.filter((directory) => {
    const end = realPath(directory)
    return leadsOutside(
      directory,
      directories.filter((other) => other !== directory && other !== end),
    )
  })
}

/** The links that the kernel follows on the way to the end of a path. The folder of each is given by its real path. */
function linksOn(path: string): readonly string[] {
  const links: string[] = []
  const left = path.split('/')
  let place = '/'
  while (left.length > 0 && links.length < maxLinks) {
    const name = left.shift() ?? ''
    if (name === '' || name === '.') continue
    const next = name === '..' ? dirname(place) : join(place, name)
    const target = targetOf(next)
    if (target === undefined) place = next
    else {
      links.push(next)
      left.unshift(...target.split('/'))
      if (isAbsolute(target)) place = '/'
    }
  }
  return links
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined
  }
}
