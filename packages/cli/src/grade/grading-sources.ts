import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { GradingSources } from '@halting/analysis'
import { whose } from '@halting/agent/session-settings'
import { messageOf } from '@halting/core/adapters'
import { gradesFile, readGrades } from '@halting/journal'
import { realPath } from '@halting/journal/files'
import { findRepository } from '@halting/policy/git'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'

/** The grades of the person, and the repositories of folders of this machine. @throws ConfigurationError for grades that cannot be read. */
export function gradingSources(program: Program): GradingSources {
  return { grades: readGrades(whose(program)), repositoryOf: repositoryFinder() }
}

/** The same for what only shows grades: where they cannot be read, that is printed, and nobody graded a run. */
export function gradingSourcesForDisplay(program: Program): GradingSources {
  try {
    return gradingSources(program)
  } catch (error) {
    program.output.err(told(messageOf(error)))
    return { grades: { of: () => undefined }, repositoryOf: repositoryFinder() }
  }
}

/** The same for a program that reads sessions for as long as it runs: grades are read again after the file has changed, and a problem is printed once. */
export function watchedGradingSources(program: Program): () => GradingSources {
  let current: { readonly state: string; readonly sources: GradingSources } | undefined
  return () => {
    const state = fileState(gradesFile(whose(program)))
    if (current?.state !== state) current = { state, sources: gradingSourcesForDisplay(program) }
    return current.sources
  }
}

/** Differs where the file is another one or was changed. */
function fileState(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = lstatSync(path)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
  } catch {
    return ''
  }
}

/** Sessions of one folder are many. */
function repositoryFinder(): GradingSources['repositoryOf'] {
  const known = new Map<string, string>()
  return (folder) => {
    const found = known.get(folder) ?? repositoryOf(folder)
    known.set(folder, found)
    return found
  }
}

/** The top folder of the main worktree, so that the sessions of all worktrees count together; the folder itself where it is in no repository. */
function repositoryOf(folder: string): string {
  const real = realPath(folder)
  const found = findRepository(real)
  if (found === undefined) return real
  if (found.kind === 'unclear') return found.folder
  const common = realPath(found.commonFolder)
  return basename(common) === '.git' ? dirname(common) : common
}
