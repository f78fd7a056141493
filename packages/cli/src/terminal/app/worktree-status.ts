import type { SessionEvent } from '@halting/core/session'
import { readOnlyGit } from '@halting/agent'

/** Whether a repository has changes that nobody committed, as it was when it was last looked at. */
export interface WorktreeStatus {
  readonly hasChanges: boolean
  /** Looks again, beside everything else; once more where it is being looked at. */
  refresh(): void
  /** Looks after what may have changed files. */
  onEvent(event: SessionEvent): void
}

/**
 * The work tree of a folder. Where there is no git, no repository, or no answer in time, it has no changes. Nothing that the repository's settings name is run.
 * @param changed It is another now.
 */
export function watchWorktree(cwd: string, env: NodeJS.ProcessEnv, changed: () => void): WorktreeStatus {
  let hasChanges = false
  let isLooking = false
  let isAskedAgain = false

  async function look(): Promise<void> {
    isLooking = true
    do {
      isAskedAgain = false
      const found = await hasUncommitted(cwd, env).catch(() => false)
      if (found === hasChanges) continue
      hasChanges = found
      changed()
    } while (isAskedAgain)
    isLooking = false
  }

  const lookAgain = (): void => {
    if (isLooking) isAskedAgain = true
    else void look()
  }
  return {
    get hasChanges() {
      return hasChanges
    },
    refresh: lookAgain,
    onEvent({ type }) {
      if (type === 'run_end') lookAgain()
    },
  }
}

const limits = { timeoutMs: 3_000, mostBytes: 64 * 1024 }

/** Whether git tells of changes that nobody committed. False where it tells nothing. */
async function hasUncommitted(cwd: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const git = await readOnlyGit(cwd, env, limits)
  const status = await git(['status', '--porcelain', '--ignore-submodules=all', '--no-renames'])
  return status !== undefined && status.text !== ''
}
