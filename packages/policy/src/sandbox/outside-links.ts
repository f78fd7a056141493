import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { isInside, realPath } from '../files/paths.ts'

const maxLinks = 40

/**
 * Whether a path leads outside of all directories through a link inside one of them. Commands can write these
 * directories, so the commands, and not the person who named the path, control where it leads.
 */
export function leadsOutside(path: string, directories: readonly string[]): boolean {
  const end = realPath(path)
  if (end === path) return false
  const roots = [...new Set(directories.map(realPath))]
  const isIn = (place: string): boolean => roots.some((root) => isInside(place, root))
  return !isIn(end) && linksOn(path).some(isIn)
}

/** The directories of a session to which a link in another directory leads. */
export function directoriesLeadingOutside(directories: readonly string[]): readonly string[] {
  return directories.filter((directory) => {
    const end = realPath(directory)
    return leadsOutside(
      directory,
      directories.filter((other) => other !== directory && other !== end),
    )
  })
}

/** The links that the kernel follows to resolve a path. The folder of each is a real path. */
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
