import { createSession, type Session, type SessionParts } from '@halting/core/session'
import type { Toolbox } from './toolbox.ts'

/** The parts that a builder adds to every session over a workspace. */
type BuilderParts = Omit<SessionParts, 'permissions' | 'stopTask'>

/** Creates the session object over an opened workspace, for `openSession` and for the builder of `codingAgent`. */
export function sessionOver(
  { workspace, permissions }: Pick<Toolbox, 'workspace' | 'permissions'>,
  { attach, ...parts }: BuilderParts,
): Session {
  return createSession({
    ...parts,
    permissions,
    attach(engine) {
      workspace.files.begin(engine.transcript)
      attach?.(engine)
    },
    // Returns false if the task is not running.
    async stopTask(id) {
      const task = workspace.tasks.get(id)
      if (task?.state !== 'running') return false
      await workspace.tasks.stop(task)
      return true
    },
  })
}
