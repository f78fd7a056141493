import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'

/** Maximum number of links that the kernel follows for one path. */
const maxLinks = 40

/**
 * Returns a path with all links resolved, even if it does not exist: a dangling link resolves to the place where
 * writing would create a file.
 */
export function realPath(path: string): string {
  return resolved(path, { links: maxLinks })
}

/** Total number of links that may still be followed, because one link may lead to many others. */
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

/** Resolves the target of a link like the kernel does: each part is resolved before `..` goes up from it. */
function throughLink(target: string, from: string, left: LinkBudget): string {
  const segments = target.split('/')
  let place = isAbsolute(target) ? '/' : from
  for (const [at, segment] of segments.entries()) {
    if (segment !== '..') place = join(place, segment)
    else
      try {
        place = dirname(realpathSync.native(place))
      } catch {
        // The part does not exist, so the path cannot be opened.
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
