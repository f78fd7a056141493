import { join } from 'node:path'
import { realPath } from '../paths.ts'
import { gitFolderProblem } from './git-folder.ts'
import { findRepository, type GitRepository, isOwnRepository } from './repository.ts'
import { pathKind } from './small-file.ts'

/** Whether what git shows of the repository around a folder could be elsewhere. */
export function leadsElsewhere(folder: string): boolean {
  const found = findRepository(realPath(folder))
  if (found === undefined) return false
  return found.kind === 'unclear' || placeProblem(found) !== undefined
}

/** Why a repository could show what is outside of it, whatever its settings are. */
export function placeProblem(found: GitRepository): string | undefined {
  if (!isOwnRepository(found)) return `the .git of ${found.workTree} leads to another repository`
  const modules = join(found.workTree, '.gitmodules')
  return gitFolderProblem(found) ?? (pathKind(modules) === 'other' ? `${modules} is a link` : undefined)
}
