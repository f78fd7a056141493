import type { Environment } from '@halting/policy/files'
import { isInRepository } from '../checkpoints/git-snapshot.ts'
import { readOnlyGit, type ReadOnlyGit } from '../tools/read-only-git.ts'

const limits = { timeoutMs: 10_000, maxBytes: 32 * 1024 * 1024 }

/**
 * Creates a git runner for a folder that runs no program of the repository. Outside a repository, it returns nothing
 * and starts no process.
 */
export async function repositoryGit(root: string, env: Environment): Promise<ReadOnlyGit> {
  return isInRepository(root) ? readOnlyGit(root, env, limits) : async () => undefined
}
