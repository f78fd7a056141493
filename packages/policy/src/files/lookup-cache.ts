import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { realPath as realPathNow } from '@halting/journal/files'

// To judge one command the same paths are looked up tens of times. What was found is used again until that judgement ends, and never in another one: what
// a link leads to may change between two commands. A judgement does not wait for anything, so this program changes nothing meanwhile.

/** What one judgement has found. */
interface LookupCache {
  readonly resolvedPaths: Map<string, ResolvedPath>
  readonly stats: Map<string, Stats | undefined>
  /** Answers of `cachedPerJudgement`, to be forgotten at its end. */
  readonly clearAtEnd: (() => void)[]
}

/** Where a path ends, and what that says of a path below it. */
interface ResolvedPath {
  readonly path: string
  /** `missing`: nothing is there. `led`: a link is on the way. `odd`: nothing is known but the end. */
  readonly kind: 'there' | 'missing' | 'led' | 'odd'
}

let currentCache: LookupCache | undefined

// Spec R-RULE-7s.
/** Judges by one look at the disk. What the judgement calls must not wait, and must not change what it looks at: see `withoutLookupCache`. */
export function withLookupCache<T>(judge: () => T): T {
  if (currentCache !== undefined) return judge()
  const own: LookupCache = { resolvedPaths: new Map(), stats: new Map(), clearAtEnd: [] }
  currentCache = own
  try {
    return judge()
  } finally {
    currentCache = undefined
    for (const forget of own.clearAtEnd) forget()
  }
}

/** Calls a port of the program amid a judgement: it looks for itself, since it may change what it looks at. */
export function withoutLookupCache<T>(call: () => T): T {
  const before = currentCache
  currentCache = undefined
  try {
    return call()
  } finally {
    currentCache = before
  }
}

/** A function that finds each answer once during a look, by the identity of what it is asked about. */
export function cachedPerJudgement<A, B, R>(find: (about: A, by: B) => R): (about: A, by: B) => R {
  let owner: LookupCache | undefined
  const answers = new Map<A, Map<B, R>>()
  const forget = (): void => {
    owner = undefined
    answers.clear()
  }
  return (about, by) => {
    if (currentCache === undefined) return find(about, by)
    if (owner !== currentCache) {
      owner = currentCache
      currentCache.clearAtEnd.push(forget)
    }
    const known = answers.get(about)
    const before = known?.get(by)
    if (before !== undefined || known?.has(by) === true) return before as R
    const found = find(about, by)
    const list = answers.get(about) ?? new Map<B, R>()
    answers.set(about, list)
    return (list.set(by, found), found)
  }
}

/** Where a path ends once every link is followed, as `realPath` of `@halting/journal/files` says. */
export function realPath(path: string): string {
  return currentCache === undefined ? realPathNow(path) : resolveCached(currentCache, path).path
}

/** With more the kernel may refuse the one form of a path, and not the other. */
const maxBytes = 1_000

function resolveCached(own: LookupCache, path: string): ResolvedPath {
  const known = own.resolvedPaths.get(path)
  if (known !== undefined) return known
  const found = resolveByFolder(own, path)
  own.resolvedPaths.set(path, found)
  return found
}

/**
 * The folder is resolved once for all that lies in it: what is not a link lies where its folder does. Other systems than Linux may also write a name as the
 * disk has it. What links lead to that the kernel makes up, as for the files of a process, is not what they say: below a link only what is there is sure.
 */
function resolveByFolder(own: LookupCache, path: string): ResolvedPath {
  if (path === '/') return { path, kind: 'there' }
  const isPlain = process.platform === 'linux' && path.length < maxBytes && path.startsWith('/') && !unusual.test(path)
  if (!isPlain) return unknownResolution(path)
  const at = path.lastIndexOf('/')
  const folder = resolveCached(own, at === 0 ? '/' : path.slice(0, at))
  const name = path.slice(at + 1)
  const place = folder.path === '/' ? `/${name}` : `${folder.path}/${name}`
  if (folder.kind === 'missing') return { path: place, kind: 'missing' }
  if (folder.kind === 'odd' || place.length >= maxBytes) return unknownResolution(path)
  const stats = lstatOf(place)
  if (stats?.isSymbolicLink() === true) return resolveLink(path)
  if (stats !== undefined) return { path: place, kind: folder.kind }
  return folder.kind === 'led' ? unknownResolution(path) : { path: place, kind: 'missing' }
}

function unknownResolution(path: string): ResolvedPath {
  return { path: realPathNow(path), kind: 'odd' }
}

function resolveLink(path: string): ResolvedPath {
  try {
    return { path: realpathSync.native(path), kind: 'led' }
  } catch {
    return unknownResolution(path)
  }
}

/** Empty names, `.` and `..`, and what the kernel cannot be asked about as it is. */
const unusual = /\/\.{0,2}(?:\/|$)|[\0\uFFFD\p{Cs}]/u

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Undefined for what is not there, and for what cannot be looked at: below a file, in a ring of links, without rights. */
export function statOf(path: string | Buffer): Stats | undefined {
  if (currentCache === undefined || typeof path !== 'string') return statNow(path)
  const { stats } = currentCache
  const before = stats.get(path)
  if (before !== undefined || stats.has(path)) return before
  const found = statNow(path)
  stats.set(path, found)
  return found
}

function statNow(path: string | Buffer): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
