import { join } from 'node:path'
import { type GitSetting, readGitConfig } from './config-file.ts'
import { type GitRepository, resolvesTo } from './repository.ts'
import { readSmallFile } from './small-file.ts'

/** Every settings file of the repository that git could read. */
export function settingsFiles({ gitFolder, commonFolder }: GitRepository): readonly string[] {
  const files = [
    join(commonFolder, 'config'),
    join(gitFolder, 'config.worktree'),
    join(commonFolder, 'config.worktree'),
  ]
  return [...new Set(files)]
}

/** The settings in a file; empty if it does not exist. Undefined for one that git rejects, or that is not a plain file. */
export function settingsOf(file: string): readonly GitSetting[] | undefined {
  const bytes = readSmallFile(file)
  if (bytes === 'missing') return []
  return bytes === 'unreadable' ? undefined : readGitConfig(bytes)
}

/** Whether the value of `core.worktree` is the folder that contains the `.git`, as in submodules. */
export function isOwnWorkTree(value: string | undefined, { gitFolder, workTree }: GitRepository): boolean {
  return value !== undefined && resolvesTo(value, gitFolder, workTree)
}

/** Number of bytes of the hash that names objects. */
export function hashBytesOf({ commonFolder }: GitRepository): number {
  const settings = settingsOf(join(commonFolder, 'config')) ?? []
  const format = settings.findLast(({ section, key }) => section === 'extensions' && key === 'objectformat')
  return format?.value === 'sha256' ? 32 : 20
}
