import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'

/** As many as the kernel follows for one path. */
const mostLinks = 40

/**
 * Where a path ends once every link is followed, also for what does not exist yet: a link that dangles is followed to
 * the place where writing through it would create a file.
 */
export function realPath(path: string): string {
  return resolved(path, { links: mostLinks })
}

/** Links that may still be followed, in all: what one link leads to may hold others many times. */
interface LinkBudget {
  links: number
}

function resolved(path: string, left: LinkBudget): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    if (parent === path) return path
    const target = left.links > 0 ? linkTarget(path) : undefined
    if (target === undefined) return join(resolved(parent, left), basename(path))
    left.links -= 1
    return throughLink(target, resolved(parent, left), left)
  }
}

/** What a link leads to: each part of it is followed before `..` goes up from it, as the kernel does. */
function throughLink(target: string, from: string, left: LinkBudget): string {
  const segments = target.split('/')
  let place = isAbsolute(target) ? '/' : from
  for (const [at, segment] of segments.entries()) {
    if (segment !== '..') place = join(place, segment)
    else
      try {
        place = dirname(realpathSync.native(place))
      } catch {
        // From what is not there nothing goes up: nothing can be opened by this path.
        return join(place, ...segments.slice(at))
      }
  }
  return resolved(place, left)
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined
  }
}
