import { headOf } from '@halting/core/adapters'
import { mayShowForeignFiles } from '@halting/policy/git'
import { readOnlyGit } from '../tools/read-only-git.ts'
import type { Environment } from '../tools/limits.ts'
import * as texts from './briefing-texts.ts'

/** Maximum number of listed files. */
const maxLines = 30
const lineCharacters = 200
const limits = { maxBytes: 1024 * 1024, timeoutMs: 1_500 }

/**
 * Returns the branch and the changed files in a few lines. Undefined outside a repository, for a repository that may
 * list files of another repository, and if git does not answer in time.
 */
export async function gitSummary(cwd: string, env: Environment): Promise<string | undefined> {
  if (mayShowForeignFiles(cwd)) return undefined
  const git = await readOnlyGit(cwd, env, limits)
  const args = ['status', '--porcelain=v1', '-z', '--branch', '--untracked-files=normal', '--ignore-submodules=all']
  const status = await git([...args, '--', '.'])
  if (status === undefined || status.text === '') return undefined
  const [branch = '', ...entries] = status.text.split('\0')
  const lines = changesIn(entries)
  const shown = lines.slice(0, maxLines).map((line) => headOf(line, lineCharacters))
  const left = lines.length - shown.length
  return [
    texts.gitBranch(branchOf(branch)),
    lines.length === 0 ? texts.noChanges : texts.changesHead,
    ...shown,
    ...(status.isCut || left > 0 ? [texts.moreChanges(status.isCut ? undefined : left)] : []),
  ].join('\n')
}

/** Parses the branch line: `## main...origin/main [ahead 1]`, `## No commits yet on main`, `## HEAD (no branch)`. */
function branchOf(line: string): string {
  const name = headOf(oneLine(line.replace(/^## /, '')), lineCharacters)
  return name.startsWith('HEAD (no branch)') ? texts.detachedHead : name
}

/** Parses status entries. The entry after a renamed file is its former name. */
function changesIn(entries: readonly string[]): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at] ?? ''
    if (entry === '') continue
    const isMoved = /^(?:[RC].|.[RC])/.test(entry.slice(0, 2))
    const before = isMoved ? entries[++at] : undefined
    lines.push(oneLine(before === undefined ? entry : texts.renamedFrom(entry, before)))
  }
  return lines
}

function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?')
}
