// Behind a dynamic import: the screen is there before git is asked.
import { readOnlyGit } from '@halting/agent'

const limits = { timeoutMs: 3_000, mostBytes: 64 * 1024 }

/** Whether git tells of changes that nobody committed. False where it tells nothing. */
export async function hasUncommitted(cwd: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const git = await readOnlyGit(cwd, env, limits)
  const status = await git(['status', '--porcelain', '--ignore-submodules=all', '--no-renames'])
  return status !== undefined && status.text !== ''
}
