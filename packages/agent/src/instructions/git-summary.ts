import { headOf } from '@halting/core/adapters'
import { pathOutside } from '../paths.ts'
import { gitTurnedOff } from '../tools/git-environment.ts'
import { askForFilters, filtersIn, gitOutput, settingsWithout } from '../tools/git-output.ts'
import type { Environment } from '../tools/limits.ts'

/** Lines of changed files that are shown. */
const mostLines = 30
const lineCharacters = 200
const limits = { mostBytes: 1024 * 1024, timeoutMs: 1_500 }

/** Branch and changed files in a few lines; undefined outside of a repository, and where git does not say in time. */
export async function gitSummary(cwd: string, env: Environment): Promise<string | undefined> {
  const quiet = gitEnvironment(cwd, env)
  const names = await gitOutput(cwd, askForFilters, quiet, limits)
  const args = ['status', '--porcelain=v1', '-z', '--branch', '--untracked-files=normal', '--ignore-submodules=all']
  const told = await gitOutput(cwd, [...args, '--', '.'], withoutFilters(quiet, names?.text ?? ''), limits)
  if (told === undefined || told.text === '') return undefined
  const [branch = '', ...entries] = told.text.split('\0')
  const lines = changesIn(entries)
  const shown = lines.slice(0, mostLines).map((line) => headOf(line, lineCharacters))
  const left = lines.length - shown.length
  return [
    `Branch: ${branchOf(branch)}`,
    lines.length === 0 ? 'Changed files: none' : 'Changed files, as git status --short tells them:',
    ...shown,
    ...(told.isCut || left > 0 ? [`(and ${told.isCut ? 'many' : left} more)`] : []),
  ].join('\n')
}

/** `## main...origin/main [ahead 1]`, `## No commits yet on main`, `## HEAD (no branch)`. */
function branchOf(line: string): string {
  const name = headOf(oneLine(line.replace(/^## /, '')), lineCharacters)
  return name.startsWith('HEAD (no branch)') ? 'none (detached HEAD)' : name
}

/** Behind a name that was renamed stands the one before. */
function changesIn(entries: readonly string[]): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at] ?? ''
    if (entry === '') continue
    const isMoved = /^(?:[RC].|.[RC])/.test(entry.slice(0, 2))
    const before = isMoved ? entries[++at] : undefined
    lines.push(oneLine(before === undefined ? entry : `${entry} (was ${before})`))
  }
  return lines
}

function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Nothing that settings of the repository name is run, nothing is written, and git is taken from nowhere in the project. */
function gitEnvironment(cwd: string, env: Environment): Environment {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...rest } = env
  return { ...rest, ...gitTurnedOff(), PATH: pathOutside(cwd, env['PATH']), LC_ALL: 'C' }
}

/** Filters are commands, and git runs them to tell what has changed. */
function withoutFilters(env: Environment, told: string): Environment {
  const off = settingsWithout(filtersIn(told))
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
