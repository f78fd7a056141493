import { join } from 'node:path'
import { realPath } from '../files/paths.ts'
import { gitFolderProblem } from './git-folder.ts'
import { indexProblem } from './index-problem.ts'
import { findRepository, type GitRepository, isOwnRepository } from './repository.ts'
import { isOwnWorkTree, settingsFiles, settingsOf } from './repository-settings.ts'
import { pathKind } from './small-file.ts'

/** Whether git could show files from outside of the repository around a folder. */
export function mayShowForeignFiles(folder: string): boolean {
  const found = findRepository(realPath(folder))
  if (found === undefined) return false
  if (found.kind === 'unclear' || foreignContentProblem(found) !== undefined) return true
  return indexProblem(found, false) !== undefined || !hasOwnWorkTree(found)
}

function hasOwnWorkTree(found: GitRepository): boolean {
  return settingsFiles(found).every((file) =>
    settingsOf(file)?.every(
      ({ section, key, value }) => section !== 'core' || key !== 'worktree' || isOwnWorkTree(value, found),
    ),
  )
}

/** Why a repository could show files from outside of it, whatever its settings are. */
export function foreignContentProblem(found: GitRepository): string | undefined {
  if (!isOwnRepository(found)) return `the .git of ${found.workTree} leads to another repository`
  const modules = join(found.workTree, '.gitmodules')
  return gitFolderProblem(found) ?? (pathKind(modules) === 'other' ? `${modules} is a link` : undefined)
}
