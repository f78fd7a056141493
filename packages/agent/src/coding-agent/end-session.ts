import type { Workspace } from '../tools/workspace.ts'

/** What a session has open. */
export interface EndSessionOptions {
  /** The workspace whose commands end. */
  readonly workspace: Workspace
  /** The MCP servers. */
  readonly servers:
    | {
        /** Disconnects them. */
        end(): Promise<void>
      }
    | undefined
  /** The hooks of the settings. */
  readonly hooks:
    | {
        /** Ends what they started. */
        end(): Promise<void>
      }
    | undefined
  /** Told of commands that end with it and that no run has named. */
  readonly onStopped: (commands: readonly string[]) => void
}

/** Ends all that a session started. The last hooks run held too: before the sandbox is gone, and when no command is left. */
export async function endSession({ workspace, servers, hooks, onStopped }: EndSessionOptions): Promise<void> {
  try {
    await workspace.letGo()
    // The run failed: what it does at its end was not done.
    const unnamed = await workspace.unnamed()
    if (unnamed.length > 0) onStopped(unnamed)
    await Promise.all([workspace.processes.dispose(), servers?.end()])
    await hooks?.end()
  } finally {
    await workspace.dispose()
  }
}
