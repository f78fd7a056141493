import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { type GitSetting, pathInSetting } from '../git/config-file.ts'
import { findRepository } from '../git/repository.ts'
import { settingsFiles, settingsOf } from '../git/repository-settings.ts'
import { bothEnds, isInsideAny, realPath, statOf } from '../files/paths.ts'
import { gitFolders } from '../shell/subcommands/git-commands.ts'
import { firstOperands } from '../shell/subcommands/equivalent-commands.ts'
import type { ShellWord } from '../shell/words.ts'
import { placesOf, type Whereabouts } from './places.ts'
import { settingsInForce } from './git-settings.ts'
import type { RuleBook } from './rule-book.ts'
import {
  gitFileUnreadable,
  gitRunsHook,
  gitSettingMayRun,
  gitSigns,
  noRuleForChanging,
  unknownRepository,
} from './command-texts.ts'

const referenceHooks = ['reference-transaction']
const indexHooks = ['post-index-change']
const commitHooks = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-rewrite']

/** Hooks that a command may run, by subcommand. */
const hooksBySubcommand: Readonly<Record<string, readonly string[]>> = {
  commit: [...commitHooks, ...referenceHooks, ...indexHooks],
  tag: referenceHooks,
  branch: referenceHooks,
  checkout: ['post-checkout', ...referenceHooks, ...indexHooks],
  switch: ['post-checkout', ...referenceHooks, ...indexHooks],
}

/**
 * Why a git command asks although it writes only the index or the history: a hook may rewrite files, a signature needs a
 * key, and a repository stored elsewhere cannot be written. Undefined if it needs no approval.
 */
export function gitWriterProblem(
  words: readonly ShellWord[],
  whereabouts: Whereabouts,
  { directories }: Pick<RuleBook, 'directories'>,
): string | undefined {
  const [sub] = firstOperands(words)
  const command = `git ${sub?.value ?? ''}`
  const [folder] = gitFolders(words)
  const places =
    folder === undefined
      ? { paths: whereabouts.directories, isUnknown: whereabouts.isUnknown }
      : placesOf(folder, whereabouts)
  if (places.isUnknown) return unknownRepository
  for (const start of places.paths) {
    const found = findRepository(realPath(start))
    // git itself reports that there is no repository.
    if (found === undefined) continue
    if (found.kind === 'unclear') return found.why
    const isElsewhere = [found.gitFolder, found.commonFolder].find(
      (path) => !bothEnds(path).every((end) => isInsideAny(end, directories)),
    )
    if (isElsewhere !== undefined) return noRuleForChanging(isElsewhere)
    const run = settingsFiles(found).flatMap((file) => {
      const program = settingsOf(file)?.find(runsProgram)
      return program === undefined ? [] : [gitSettingMayRun(file, `${program.section}.${program.key}`)]
    })[0]
    if (run !== undefined) return run
    const settings = settingsInForce(start)
    if (settings === undefined) return gitFileUnreadable(join(found.commonFolder, 'config'))
    const last = (section: string, key: string): string | undefined =>
      settings.findLast((setting) => setting.section === section && setting.key === key)?.value
    const signs = sub?.value === 'commit' ? 'commit' : sub?.value === 'tag' ? 'tag' : undefined
    const isSigned =
      signs !== undefined &&
      (isTrue(last(signs, 'gpgsign')) ||
        (signs === 'tag' && isAnnotated(words) && isTrue(last('tag', 'forcesignannotated'))))
    if (isSigned && !words.some(({ value }) => unsigned.test(value))) return gitSigns(command)
    const named = last('core', 'hookspath')
    const folderOfHooks = named === undefined ? join(found.commonFolder, 'hooks') : pathInSetting(named, found.workTree)
    if (folderOfHooks === undefined) return gitRunsHook(command, named ?? '')
    const skipped = words.some(({ value }) => /^(?:--no-verify|-[aqvsoi]*n[aqvsoi]*m?)$/.test(value)) ? verifying : []
    const hook = (hooksBySubcommand[sub?.value ?? ''] ?? indexHooks).find(
      (name) => !skipped.includes(name) && isExecutableFile(join(folderOfHooks, name)),
    )
    if (hook !== undefined) return gitRunsHook(command, hook)
  }
  return undefined
}

/** Settings of a repository that make git run a program while its folder is writable, except those that git-lfs writes. */
function runsProgram({ section, key, value = '' }: GitSetting): boolean {
  if (section === 'core' && key === 'fsmonitor') return !/^(?:true|false|yes|no|on|off|0|1|)$/i.test(value)
  return (
    section.startsWith('filter.') &&
    /^(?:clean|process)$/.test(key) &&
    !/^git-lfs (?:clean|filter-process)\b[\w %.-]*$/.test(value)
  )
}

const verifying: readonly string[] = ['pre-commit', 'commit-msg']
const unsigned = /^(?:--no-gpg-sign|(?:commit|tag)\.gpgsign=(?:false|no|0))$/i

/** Whether a tag has a message. */
function isAnnotated(words: readonly ShellWord[]): boolean {
  return words.some(({ value }) => /^(?:-a?m|-a|--annotate|--message)/.test(value))
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && /^(?:true|yes|on|1|)$/i.test(value)
}

function isExecutableFile(path: string): boolean {
  if (statOf(path)?.isFile() !== true) return false
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
