import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { GradingSources } from '@halting/analysis'
import { sessionScope } from '@halting/agent/session-settings'
import { messageOf } from '@halting/core/adapters'
import { gradesFile, readGrades } from '@halting/journal'
import { realPath } from '@halting/journal/files'
import { findRepository } from '@halting/policy/git'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'

/** The user's grades, and a lookup of repositories. @throws ConfigurationError if the grades cannot be read */
export function gradingSources(program: Program): GradingSources {
  return { grades: readGrades(sessionScope(program)), repositoryOf: repositoryFinder() }
}

/** Like `gradingSources`, but if the grades cannot be read, prints the problem and continues without them. */
export function gradingSourcesForDisplay(program: Program): GradingSources {
  try {
    return gradingSources(program)
  } catch (error) {
    program.output.err(programMessage(messageOf(error)))
    return { grades: { of: () => undefined }, repositoryOf: repositoryFinder() }
  }
}

/** Like `gradingSourcesForDisplay`, for long-running programs: reads the grades again after the file has changed, and prints a problem once. */
export function watchedGradingSources(program: Program): () => GradingSources {
  let current: { readonly state: string; readonly sources: GradingSources } | undefined
  return () => {
    const state = fileState(gradesFile(sessionScope(program)))
    if (current?.state !== state) current = { state, sources: gradingSourcesForDisplay(program) }
    return current.sources
  }
}

/** Changes when the file is replaced or modified. */
function fileState(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = lstatSync(path)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
  } catch {
    return ''
  }
}

/** Caches the repository of each folder, since many sessions share one. */
function repositoryFinder(): GradingSources['repositoryOf'] {
  const known = new Map<string, string>()
  return (folder) => {
    const found = known.get(folder) ?? repositoryOf(folder)
    known.set(folder, found)
    return found
  }
}

/** The top folder of the main worktree, so that sessions of all worktrees count together. Outside a repository, the folder itself. */
function repositoryOf(folder: string): string {
  const real = realPath(folder)
  const found = findRepository(real)
  if (found === undefined) return real
  if (found.kind === 'unclear') return found.folder
  const common = realPath(found.commonFolder)
  return basename(common) === '.git' ? dirname(common) : common
}
