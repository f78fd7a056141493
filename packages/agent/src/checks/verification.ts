import type { AnyTool, Verification } from '@halting/core'
import type { Workspace } from '../tools/workspace.ts'

/** What follows where an answer is given after a change that no passing check followed: the model is asked once, only the result says so, or nobody looks. */
export type VerificationMode = Verification['mode'] | 'off'

/** What the runs of a session can check: the tools that the model has, and the folder that they work in. */
interface Checkable {
  readonly workspace: Pick<Workspace, 'cwd'>
  readonly tools: readonly AnyTool[]
}

// Spec R-VERI-14.
/** The option `verification` of the runs of a session. The checks of the project are looked for when they are asked for, and only where the model has Bash. */
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
