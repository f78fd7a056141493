import { searchPathOutside } from '@halting/policy/files'
import { gitHardening } from '@halting/policy/git'
import { askForFilters, filtersIn, type GitOutput, gitOutput, settingsWithout } from './git-output.ts'
import type { Environment } from './limits.ts'

/** Runs git; undefined if it fails or takes too long. */
export type ReadOnlyGit = (args: readonly string[]) => Promise<GitOutput | undefined>

/** Limits of a git command: time and output. */
export interface ReadOnlyGitLimits {
  /** Maximum time in milliseconds. */
  readonly timeoutMs: number
  /** Maximum bytes of output. */
  readonly maxBytes: number
}

/**
 * Git for inspecting an untrusted repository: nothing that its settings name is run, nothing is written, and git
 * itself is never taken from the folder. External diff programs are left to the caller (`--no-ext-diff`,
 * `--no-textconv`), since attribute files define them.
 */
export async function readOnlyGit(cwd: string, env: Environment, limits: ReadOnlyGitLimits): Promise<ReadOnlyGit> {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...rest } = env
  const quiet: Environment = { ...rest, ...gitHardening(), PATH: searchPathOutside(cwd, env['PATH']), LC_ALL: 'C' }
  const names = await gitOutput(cwd, askForFilters, quiet, limits)
  const safeEnv = withoutFilters(quiet, names?.text ?? '')
  return (args) => gitOutput(cwd, args, safeEnv, limits)
}

/** Disables filters: they are commands, and git runs them to detect changes. */
function withoutFilters(env: Environment, settings: string): Environment {
  const off = settingsWithout(filtersIn(settings))
  const before = Number(env['GIT_CONFIG_COUNT'])
  return {
    ...env,
    GIT_CONFIG_COUNT: String(before + off.length),
    ...Object.fromEntries(
      off.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${before + at}`, key],
        [`GIT_CONFIG_VALUE_${before + at}`, value],
      ]),
    ),
  }
}
