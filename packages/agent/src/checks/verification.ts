import type { AnyTool, Verification } from '@halting/core'
import type { Workspace } from '../tools/workspace.ts'

/**
 * What happens when an answer follows a change without a passing check: the model is asked once, only the result
 * reports it, or nothing happens.
 */
export type VerificationMode = Verification['mode'] | 'off'

/** What verification needs from a session: the model's tools and their folder. */
interface Checkable {
  readonly workspace: Pick<Workspace, 'cwd'>
  readonly tools: readonly AnyTool[]
}

// Spec R-VERI-14.
/**
 * The option `verification` of the runs of a session. Project checks are looked up on demand, and only if the model
 * has Bash.
 */
export function verificationOf(mode: VerificationMode, { workspace, tools }: Checkable): Verification | undefined {
  if (mode === 'off') return undefined
  if (!tools.some(({ name }) => name === 'Bash')) return { mode }
  return {
    mode,
    async checks() {
      const { projectChecks } = await import('./project-checks.ts')
      return projectChecks(workspace.cwd)
    },
  }
}
