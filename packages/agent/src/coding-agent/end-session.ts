import type { Workspace } from '../tools/workspace.ts'

/** The open resources of a session. */
export interface EndSessionOptions {
  /** The workspace whose commands are ended. */
  readonly workspace: Workspace
  /** The MCP servers. */
  readonly servers:
    | {
        /** Disconnects the servers. */
        end(): Promise<void>
      }
    | undefined
  /** The hooks of the settings. */
  readonly hooks:
    | {
        /** Ends everything that the hooks started. */
        end(): Promise<void>
      }
    | undefined
  /** Called with commands that are stopped and that no run has reported. */
  readonly onStopped: (commands: readonly string[]) => void
}

/**
 * Ends everything that a session started. The last hooks run while the sandbox still exists and after all commands
 * have ended.
 */
export async function endSession({ workspace, servers, hooks, onStopped }: EndSessionOptions): Promise<void> {
  try {
    await workspace.letGo()
    // The run failed, so its final steps did not execute.
    const unnamed = await workspace.unnamed()
    if (unnamed.length > 0) onStopped(unnamed)
    await Promise.all([workspace.processes.dispose(), servers?.end()])
    await hooks?.end()
  } finally {
    await workspace.dispose()
  }
}
