import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { realPath as realPathNow } from '@halting/journal/files'

// Judging one command looks up the same paths dozens of times. Results are cached until that judgement ends and never reused in another one: a link
// may change between two commands. A judgement is synchronous, so this program changes nothing in the meantime.

/** What one judgement has looked up. */
interface LookupCache {
  readonly resolvedPaths: Map<string, ResolvedPath>
  readonly stats: Map<string, Stats | undefined>
  /** Clears the caches of `cachedPerJudgement` when the judgement ends. */
  readonly clearAtEnd: (() => void)[]
}

/** The real path of a path, and whether paths below it can be derived from it. */
interface ResolvedPath {
  readonly path: string
  /** `missing`: nothing exists at the path. `linked`: the path contains a link. `unknown`: only the real path is known. */
  readonly kind: 'there' | 'missing' | 'linked' | 'unknown'
}

let currentCache: LookupCache | undefined

// Spec R-RULE-7s.
/**
 * Runs a judgement with a cache of file system lookups. It must be synchronous, and must not change files that it looks up: see
 * `withoutLookupCache`.
 */
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

/** Calls code of the host during a judgement. It gets no cached lookups, as it may change the files that it looks up. */
export function withoutLookupCache<T>(call: () => T): T {
  const before = currentCache
  currentCache = undefined
  try {
    return call()
  } finally {
    currentCache = before
  }
}

/** Memoizes a function of two objects for the duration of one judgement, by identity. */
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

/** The real path with every link followed, like `realPath` of `@halting/journal/files`. */
export function realPath(path: string): string {
  return currentCache === undefined ? realPathNow(path) : resolveCached(currentCache, path).path
}

/** For longer paths the kernel may reject one form of the path and accept the other. */
const maxBytes = 1_000

function resolveCached(own: LookupCache, path: string): ResolvedPath {
  const known = own.resolvedPaths.get(path)
  if (known !== undefined) return known
  const found = resolveByFolder(own, path)
  own.resolvedPaths.set(path, found)
  return found
}

/**
 * Each folder is resolved once for all of its entries: an entry that is not a link is located in the real folder.
 * Systems other than Linux may also normalize names. Links that the kernel generates, such as those of processes, do not
 * lead where their text says; below a link only existing entries are certain.
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
  if (folder.kind === 'unknown' || place.length >= maxBytes) return unknownResolution(path)
  const stats = lstatOf(place)
  if (stats?.isSymbolicLink() === true) return resolveLink(path)
  if (stats !== undefined) return { path: place, kind: folder.kind }
  return folder.kind === 'linked' ? unknownResolution(path) : { path: place, kind: 'missing' }
}

function unknownResolution(path: string): ResolvedPath {
  return { path: realPathNow(path), kind: 'unknown' }
}

function resolveLink(path: string): ResolvedPath {
  try {
    return { path: realpathSync.native(path), kind: 'linked' }
  } catch {
    return unknownResolution(path)
  }
}

/** Matches empty names, `.` and `..`, and characters that cannot be passed to the kernel unchanged. */
const unusual = /\/\.{0,2}(?:\/|$)|[\0\uFFFD\p{Cs}]/u

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Undefined if nothing exists there, or if it cannot be inspected: below a file, in a cycle of links, without permission. */
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
