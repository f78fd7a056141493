import { join, relative, resolve } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { ConfigurationError } from '@halting/core'
import { type PathPattern, pathPattern, type RuleText } from '@halting/policy'
import { bracesExpanded, bracketReadings, type Environment, firstEntries, isInside } from '@halting/policy/files'
import { skippedFolders } from '../checkpoints/folder-snapshot.ts'
import type { ReadOnlyGit } from '../tools/read-only-git.ts'
import { repositoryGit } from './repository-git.ts'

/** Maximum number of files that all globs may match together. */
const maxProtected = 2_000
const maxEntries = 300_000
const longestBusyMs = 20
/** Number of paths per call of git. */
const pathsAtOnce = 400

/** Globs of `protect`, as rule patterns relative to the workspace. */
export interface ProtectedGlobs {
  /** The globs as written. */
  readonly given: readonly string[]
  /**
   * Patterns for rules such as `Edit(…)`: a pattern for a folder matches everything below it, and a name without a
   * slash matches at any depth.
   */
  readonly rules: readonly string[]
  readonly patterns: readonly PathPattern[]
}

/**
 * Parses globs, which are relative to the workspace.
 * @throws ConfigurationError for an invalid glob, or one that leads out of the workspace.
 */
export function protectedGlobs(rawGlobs: readonly string[], root: string): ProtectedGlobs {
  const rules = rawGlobs.flatMap((glob) => {
    const trimmed = glob.trim()
    const inside = isInside(trimmed, root) && trimmed !== root ? relative(root, trimmed) : trimmed
    if (trimmed === '' || trimmed === root || trimmed.startsWith('~') || inside.startsWith('/'))
      throw new ConfigurationError(`protect takes globs below the workspace, such as tests/**; "${glob}" is not one.`)
    const all = bracesExpanded(inside)
    if (all === undefined) throw new ConfigurationError(`protect: "${glob}" has too many alternatives in braces.`)
    // Without the prefix, the pattern would be a name that matches at any depth.
    return all.map((one) => (inside !== trimmed || one.startsWith('./') ? `./${one.replace(/^(?:\.\/)+/, '')}` : one))
  })
  const patterns = rules.map((rule) => {
    const pattern = pathPattern(rule, { cwd: root, projectDirectory: root })
    if ('problem' in pattern) throw new ConfigurationError(`protect: "${rule}" is not a glob: ${pattern.problem}.`)
    return pattern
  })
  return { given: rawGlobs, rules, patterns }
}

/** Deny rules for the agent's tools and commands, and their patterns, which do not apply to checks. */
export interface ProtectRules {
  readonly deny: readonly RuleText[]
  readonly patterns: ReadonlySet<string>
}

/**
 * Creates the rules that protect files, before anything is written.
 * @throws ConfigurationError for invalid globs.
 */
export function protectRules(rawGlobs: readonly string[], cwd: string): ProtectRules {
  const root = resolve(cwd)
  const { rules } = protectedGlobs(rawGlobs, root)
  const deny = rules.map((rule): RuleText => ({ rule: `Edit(${rule})`, projectDirectory: root, isWatched: true }))
  return { deny, patterns: new Set(rules.flatMap(bracketReadings)) }
}

/** Matching files and links below the workspace, relative to it, and which of them git ignores. */
export interface ProtectedFiles {
  readonly paths: readonly string[]
  /** Matching files that git ignores and that are therefore not protected. */
  readonly ignored: readonly string[]
  /** Files that define what git ignores, in folders where a pattern could match. */
  readonly ignoreFiles: readonly string[]
}

/**
 * Returns the current matches of patterns. Links are listed and not followed.
 * @throws Error if there are too many files to inspect or to protect.
 */
export async function filesThatFit(
  { patterns }: ProtectedGlobs,
  root: string,
  git: ReadOnlyGit,
  signal?: AbortSignal,
): Promise<ProtectedFiles> {
  if (patterns.length === 0) return { paths: [], ignored: [], ignoreFiles: [] }
  const found: string[] = []
  const ignoreFiles = ['.git/info/exclude']
  const folders = [root]
  let entriesLeft = maxEntries
  let busySince = performance.now()
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesIn(folder, entriesLeft)) {
      entriesLeft -= 1
      if (entriesLeft <= 0)
        throw new ConfigurationError(
          `protect: there are more than ${maxEntries} files to look at in ${root}. Write globs that begin with a folder, such as tests/**.`,
        )
      const path = join(folder, entry.name)
      if (entry.name === '.gitignore') ignoreFiles.push(relative(root, path))
      if (entry.isDirectory()) {
        const isWanted = !skippedFolders.has(entry.name) || patterns.some(({ source }) => source.includes(entry.name))
        if (isWanted && patterns.some((pattern) => pattern.couldMatchBelow(path))) folders.push(path)
      } else if (patterns.some((pattern) => pattern.matches(path))) found.push(relative(root, path))
    }
    if (performance.now() - busySince <= longestBusyMs) continue
    // oxlint-disable-next-line no-await-in-loop -- this is what the loop is interrupted for
    await pause()
    signal?.throwIfAborted()
    busySince = performance.now()
  }
  const ignored = await ignoredByGit(found, git)
  const paths = found.filter((path) => !ignored.has(path)).toSorted()
  if (paths.length > maxProtected)
    throw new ConfigurationError(
      `protect: ${paths.length} files are to be protected; ${maxProtected} can be. Write globs that fit fewer.`,
    )
  return { paths, ignored: found.filter((path) => ignored.has(path)).toSorted(), ignoreFiles: ignoreFiles.toSorted() }
}

function entriesIn(folder: string, most: number): ReturnType<typeof firstEntries>['entries'] {
  try {
    return firstEntries(folder, Math.max(1, most)).entries
  } catch {
    // Files in a folder that cannot be listed cannot be protected by name; a check that needs the folder fails by
    // itself.
    return []
  }
}

async function ignoredByGit(paths: readonly string[], git: ReadOnlyGit): Promise<ReadonlySet<string>> {
  const ignored = new Set<string>()
  for (let at = 0; at < paths.length; at += pathsAtOnce) {
    const some = paths.slice(at, at + pathsAtOnce)
    // oxlint-disable-next-line no-await-in-loop -- one process at a time
    const answer = await git([
      '--literal-pathspecs',
      'ls-files',
      '-z',
      '--others',
      '--ignored',
      '--exclude-standard',
      '--',
      ...some,
    ])
    for (const path of answer?.text.split('\0') ?? []) ignored.add(path)
  }
  return ignored
}

/**
 * Verifies, before anything is spent, that the globs protect something.
 * @throws ConfigurationError for a glob that matches only what git ignores, and for files that cannot be protected.
 */
export async function checkProtectedGlobs(rawGlobs: readonly string[], cwd: string, env: Environment): Promise<void> {
  const root = resolve(cwd)
  const git = await repositoryGit(root, env)
  for (const glob of rawGlobs) {
    const globs = protectedGlobs([glob], root)
    // oxlint-disable-next-line no-await-in-loop -- the first that is wrong is reported
    const { paths, ignored } = await filesThatFit(globs, root, git)
    if (paths.length === 0)
      throw new ConfigurationError(
        `protect: "${glob}" fits no file in ${root}${ignored.length > 0 ? ' that git does not ignore' : ''}. Correct it, or leave it out.`,
      )
    const odd = paths.find((path) => path.includes('\uFFFD'))
    if (odd !== undefined)
      throw new ConfigurationError(
        `protect: the name of ${odd} is not UTF-8, so that it cannot be protected. Rename it.`,
      )
  }
  await filesThatFit(protectedGlobs(rawGlobs, root), root, git)
}
