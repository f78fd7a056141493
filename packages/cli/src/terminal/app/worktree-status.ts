import type { SessionEvent } from '@halting/core/session'
import { readOnlyGit } from '@halting/agent'

/** Whether a repository had uncommitted changes at the last check. */
export interface WorktreeStatus {
  readonly hasChanges: boolean
  /** Checks again in the background; during a check, once more after it. */
  refresh(): void
  /** Checks again after an event if it may have changed files. */
  onEvent(event: SessionEvent): void
}

/**
 * Watches a folder for uncommitted changes. Without git, a repository, or a timely answer, it reports no changes. Programs named in the repository's settings are
 * not run.
 * @param changed Called when the status changes.
 */
export function watchWorktree(cwd: string, env: NodeJS.ProcessEnv, changed: () => void): WorktreeStatus {
  let hasChanges = false
  let isChecking = false
  let isAskedAgain = false

  async function check(): Promise<void> {
    isChecking = true
    do {
      isAskedAgain = false
      const found = await hasUncommitted(cwd, env).catch(() => false)
      if (found === hasChanges) continue
      hasChanges = found
      changed()
    } while (isAskedAgain)
    isChecking = false
  }

  const requestCheck = (): void => {
    if (isChecking) isAskedAgain = true
    else void check()
  }
  return {
    get hasChanges() {
      return hasChanges
    },
    refresh: requestCheck,
    onEvent({ type }) {
      if (type === 'run_end') requestCheck()
    },
  }
}

const limits = { timeoutMs: 3_000, maxBytes: 64 * 1024 }

/** Whether git reports uncommitted changes. False if it reports nothing. */
async function hasUncommitted(cwd: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const git = await readOnlyGit(cwd, env, limits)
  const status = await git(['status', '--porcelain', '--ignore-submodules=all', '--no-renames'])
  return status !== undefined && status.text !== ''
}
