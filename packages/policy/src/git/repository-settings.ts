import { join } from 'node:path'
import { type GitSetting, readGitConfig } from './config-file.ts'
import { type GitRepository, resolvesTo } from './repository.ts'
import { readSmallFile } from './small-file.ts'

/** Every file with settings of the repository that git could read. */
export function settingsFiles({ gitFolder, commonFolder }: GitRepository): readonly string[] {
  const files = [
    join(commonFolder, 'config'),
    join(gitFolder, 'config.worktree'),
    join(commonFolder, 'config.worktree'),
  ]
  return [...new Set(files)]
}

/** A file that is not there sets nothing. Undefined for one that git does not read, or that is not a plain file. */
export function settingsOf(file: string): readonly GitSetting[] | undefined {
  const bytes = readSmallFile(file)
  if (bytes === 'missing') return []
  return bytes === 'unreadable' ? undefined : readGitConfig(bytes)
}

/** Whether the value of `core.worktree` is the folder in which the `.git` is: submodules name their own. */
export function isOwnWorkTree(value: string | undefined, { gitFolder, workTree }: GitRepository): boolean {
  return value !== undefined && resolvesTo(value, gitFolder, workTree)
}

/** Of the hash that names objects. */
export function hashBytesOf({ commonFolder }: GitRepository): number {
  const settings = settingsOf(join(commonFolder, 'config')) ?? []
  const format = settings.findLast(({ section, key }) => section === 'extensions' && key === 'objectformat')
  return format?.value === 'sha256' ? 32 : 20
}
