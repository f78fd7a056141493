import { headOf } from '@halting/core/adapters'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type GitSetting, isInclude, pathInSetting, readGitConfig } from '../git/config-file.ts'
import { indexProblem } from '../git/index-problem.ts'
import { foreignContentProblem } from '../git/foreign-content.ts'
import { findRepository, type GitRepository, isOwnRepository } from '../git/repository.ts'
import { isOwnWorkTree, settingsFiles, settingsOf } from '../git/repository-settings.ts'
import { pathKind } from '../git/small-file.ts'
import { homeFolder, realPath, statOf } from '../files/paths.ts'
import { redactSecrets } from '@halting/core/redact'
import type { ShownSettings } from '../shell/effects.ts'
import { isHarmlessInRepository, isHarmlessOfPerson } from './harmless-git-settings.ts'
import {
  gitFileUnparsable,
  gitFileUnreadable,
  gitIndexHook,
  gitSettingMayRun,
  gitVariableSet,
} from './command-texts.ts'

/** How a line runs git: with settings overridden by the environment, or with those of the person. */
export interface GitUse {
  readonly entersSubmodules: boolean
  /** Whether it opens files of the work tree by the paths of the index. */
  readonly readsIndex: boolean
  readonly isHardened: boolean
}

/**
 * Why git might run a program in a folder, or show files from elsewhere: because of a variable, the repository, or a
 * setting of the person. Checks every file that git would read, and accepts only what is known to be harmless. Undefined
 * if everything is harmless.
 */
export function gitProblem(
  folder: string,
  use: GitUse,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const foreign = Object.keys(env).find(
    (name) => /^GIT_(?!SSL_|HTTP_|CURL_|TRACE)/.test(name) && !harmlessVariables.has(name) && env[name] !== '',
  )
  if (foreign !== undefined) return gitVariableSet(foreign)
  return repositoryProblem(folder, use) ?? personalProblem()
}

/** The part of `gitProblem` about the repository. */
function repositoryProblem(folder: string, use: GitUse): string | undefined {
  const found = findRepository(realPath(folder))
  if (found === undefined) return undefined
  if (found.kind === 'unclear') return found.why
  return (
    foreignContentProblem(found) ??
    settingProblem(found, use) ??
    (use.readsIndex ? indexProblem(found, use.entersSubmodules) : undefined)
  )
}

/** The work tree that git uses from a folder: from a folder below it git shows all of it. */
export function workTreeAround(folder: string): string {
  for (let start = realPath(folder); ; start = dirname(start)) {
    const found = findRepository(start)
    if (found === undefined) return folder
    if (found.kind === 'repository') return found.workTree
    // git may continue its search upwards if it rejects this folder.
    start = found.folder
    if (dirname(start) === start) return folder
  }
}

/**
 * What git reads of the repository around a folder: its work tree, and the folders that store it. Empty if the
 * repository belongs to another folder, as a `.git` file can name any repository.
 */
export function repositoryPlaces(folder: string): readonly string[] {
  const found = findRepository(realPath(folder))
  return found?.kind === 'repository' && isOwnRepository(found)
    ? [found.workTree, found.gitFolder, found.commonFolder]
    : []
}

/** The git settings of the person, with the files that they include and name. */
export function personalGitFiles(): readonly string[] {
  const config = process.env['XDG_CONFIG_HOME'] || join(homeFolder(), '.config')
  const defaults = ['git/ignore', 'git/attributes'].map((name) => join(config, name))
  return [...defaults, ...personalFiles().flatMap((file) => withNamedFiles(file))]
}

/** Whether a settings file, or one that it includes, contains a password or a token. */
export function holdsGitSecret(file: string): boolean {
  return secretIn(file, 'all') !== undefined
}

/** Settings that name files which read-only commands open. */
const fileNamingKeys = /^(?:core\.(?:excludesfile|attributesfile)|mailmap\.file|blame\.ignorerevsfile|diff\.orderfile)$/

function withNamedFiles(file: string, depth = 0): readonly string[] {
  if (depth > 5) return []
  const named = (personalSettingsOf(file) ?? []).flatMap(({ section, key, value = '' }) => {
    const path = includedFile(file, value)
    if (path === undefined) return []
    if (isInclude(section, key)) return withNamedFiles(path, depth + 1)
    return fileNamingKeys.test(`${section}.${key}`) ? [path] : []
  })
  return [file, ...named]
}

/** The setting with a password or token that git would print; undefined if it prints no secret. */
export function secretPrinted(folder: string, shown: ShownSettings): string | undefined {
  const found = findRepository(realPath(folder))
  const files = found?.kind === 'repository' ? settingsFiles(found) : []
  for (const file of [...files, ...personalFiles()]) {
    const secret = secretIn(file, shown)
    if (secret !== undefined) return secret
  }
  return undefined
}

function secretIn(file: string, shown: ShownSettings, depth = 0): string | undefined {
  if (depth > 5) return undefined
  for (const { section, key, value = '' } of personalSettingsOf(file) ?? []) {
    const included = isInclude(section, key) ? includedFile(file, value) : undefined
    const secret = included === undefined ? undefined : secretIn(included, shown, depth + 1)
    if (secret !== undefined) return secret
    if (isPrinted(shown, section, key) && (isSecretKey(key) || holdsSecret(section) || holdsSecret(value)))
      return `${/^[\w.-]+$/.test(section) ? section : section.split('.', 1)[0]}.${key} in ${file}`
  }
  return undefined
}

function isPrinted(shown: ShownSettings, section: string, key: string): boolean {
  if (shown === 'all') return true
  if (shown === 'addresses') return /^(?:remote|url)\./.test(section)
  return shown.name.toLowerCase() === `${section}.${key}`.toLowerCase()
}

function isSecretKey(key: string): boolean {
  return /pass(?:word|phrase)?$|token$|secret$|^extraheader$/.test(key)
}

/** A password in a URL, a token in place of its user name, and secrets known by their form. */
function holdsSecret(text: string): boolean {
  return /:\/\/[\w-]{20,}@/.test(text) || redactSecrets(text) !== text
}

/** Whether git finds the repository in the folder first, whatever files are created there: it looks for `.git` first. */
export function isFoundFirst(folder: string): boolean {
  return statOf(join(folder, '.git')) !== undefined
}

const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'GIT_EDITOR GIT_PAGER GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL ' +
    'GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_ASKPASS GIT_MERGE_AUTOEDIT GIT_NO_LAZY_FETCH ' +
    'GIT_SEQUENCE_EDITOR GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_SSH GIT_SSH_COMMAND'
  ).split(' '),
)

function settingProblem(found: GitRepository, use: GitUse): string | undefined {
  for (const file of settingsFiles(found)) {
    const settings = settingsOf(file)
    if (settings === undefined) return gitFileUnparsable(file)
    const harmful = settings.find((setting) => !isHarmlessHere(setting, found, use))
    if (harmful !== undefined) return problemOf(file, harmful)
  }
  return !use.isHardened && existsSync(join(found.commonFolder, 'hooks/post-index-change')) ? gitIndexHook : undefined
}

function isHarmlessHere(setting: GitSetting, found: GitRepository, use: GitUse): boolean {
  const { section, key, value } = setting
  // Submodules name their own folder.
  if (section === 'core' && key === 'worktree') return isOwnWorkTree(value, found)
  // If this is git's own settings folder, refreshing the index may run hooks of the repository.
  if (section === 'core' && key === 'hookspath') return use.isHardened || hasNoHook(value, found.workTree)
  return isHarmlessInRepository(setting)
}

function hasNoHook(value: string | undefined, workTree: string): boolean {
  const folder = value === undefined ? undefined : pathInSetting(value, workTree)
  return folder !== undefined && !existsSync(join(folder, 'post-index-change'))
}

function problemOf(file: string, { section, key }: GitSetting): string {
  const name = headOf(`${section}.${key}`.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?'), 200)
  return gitSettingMayRun(file, name)
}

function personalFileProblem(file: string, depth = 0): string | undefined {
  const settings = depth > 5 ? undefined : personalSettingsOf(file)
  if (settings === undefined) return gitFileUnreadable(file)
  for (const setting of settings) {
    if (isInclude(setting.section, setting.key)) {
      const included = includedFile(file, setting.value ?? '')
      const problem = included === undefined ? problemOf(file, setting) : personalFileProblem(included, depth + 1)
      if (problem !== undefined) return problem
    } else if (!isHarmlessOfPerson(setting)) return problemOf(file, setting)
  }
  return undefined
}

const maxBytes = 1_000_000

/** Like `settingsOf`, but follows links: people link these files to their own folders. */
function personalSettingsOf(file: string): readonly GitSetting[] | undefined {
  const stats = statOf(file)
  if (stats === undefined) return pathKind(file) === 'missing' ? [] : undefined
  try {
    return stats.isFile() && stats.size <= maxBytes ? readGitConfig(readFileSync(file)) : undefined
  } catch {
    return undefined
  }
}

/** The condition of the include is ignored, so the result may contain files that git would not read. */
function includedFile(file: string, path: string): string | undefined {
  return pathInSetting(path, dirname(file))
}

let lastPersonal: { readonly key: string; readonly problem: string | undefined; readonly at: number } | undefined

function personalFiles(): readonly string[] {
  const home = homeFolder()
  const config = process.env['XDG_CONFIG_HOME'] || join(home, '.config')
  return [
    join(home, '.gitconfig'),
    join(config, 'git/config'),
    '/etc/gitconfig',
    '/usr/local/etc/gitconfig',
    '/opt/homebrew/etc/gitconfig',
  ]
}

function personalProblem(): string | undefined {
  const files = personalFiles()
  const key = files.map((file) => `${file}:${statOf(file)?.mtimeMs ?? 0}`).join('\n')
  const now = performance.now()
  // Included files are not part of the key, so the result expires after a while.
  if (lastPersonal?.key === key && now - lastPersonal.at < 1000) return lastPersonal.problem
  const problem = files.map((file) => personalFileProblem(file)).find((found) => found !== undefined)
  lastPersonal = { key, problem, at: now }
  return problem
}

/** Every setting that git would read in a folder, those of the person first; undefined if a file cannot be parsed. */
export function settingsInForce(folder: string): readonly GitSetting[] | undefined {
  const found = findRepository(realPath(folder))
  if (found?.kind === 'unclear') return undefined
  const own = found === undefined ? [] : settingsFiles(found).map(settingsOf)
  return concatIfComplete([
    ...personalFiles()
      .toReversed()
      .map((file) => withIncluded(file)),
    ...own,
  ])
}

function withIncluded(file: string, depth = 0): readonly GitSetting[] | undefined {
  const settings = depth > 5 ? undefined : personalSettingsOf(file)
  if (settings === undefined) return undefined
  return concatIfComplete(
    settings.map((setting) => {
      if (!isInclude(setting.section, setting.key)) return [setting]
      const path = includedFile(file, setting.value ?? '')
      return path === undefined ? undefined : withIncluded(path, depth + 1)
    }),
  )
}

function concatIfComplete<T>(lists: readonly (readonly T[] | undefined)[]): readonly T[] | undefined {
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? [])
}
