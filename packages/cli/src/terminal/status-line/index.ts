// Loaded only if a setting names a command.
import type { StatusLineSettings } from '@halting/policy/settings'
import { StatusLineCommand, type StatusLineSize } from '@halting/agent/hooks'
import type { LiveSession } from '../../flags/open-session.ts'
import type { SessionEvent } from '@halting/core/session'
import { followSession, statusLineInput } from './input.ts'
import { createStatusLine, type StatusLine } from './status-line.ts'

export type { StatusLine } from './status-line.ts'

/** What the program provides to the status line. */
export interface StatusLineContext {
  /** The folder where the program was started. */
  readonly projectDirectory: string
  readonly version: string
  readonly size: () => StatusLineSize
  readonly changed: () => void
  readonly note: (text: string) => void
  /** Milliseconds, by the clock of the session. */
  readonly now: () => number
}

/** The status line of a session of this machine, according to its settings. */
export function statusLineOf(
  { session, toolbox, run }: LiveSession,
  { command, padding, refreshInterval }: StatusLineSettings,
  { projectDirectory, version, size, changed, note, now }: StatusLineContext,
): StatusLine {
  const { workspace } = toolbox
  const { file, cwd } = session.snapshot
  const openedAt = now()
  const activity = followSession()
  const statusLine = createStatusLine({
    command: new StatusLineCommand({
      command,
      cwd,
      projectDirectory,
      env: workspace.env,
      sandbox: () => workspace.sandbox,
      ...(file !== undefined && { readable: [file] }),
    }),
    ...(padding !== undefined && { padding }),
    ...(refreshInterval !== undefined && { refreshMs: refreshInterval * 1_000 }),
    input: () =>
      statusLineInput({
        sessionId: session.id,
        snapshot: session.snapshot,
        followed: activity,
        projectDirectory,
        additionalDirectories: workspace.directories.slice(1),
        effort: run.choices.effort,
        version,
        openForMs: now() - openedAt,
      }),
    size,
    changed,
    note,
  })
  return {
    get isShown() {
      return statusLine.isShown
    },
    render: (width) => statusLine.render(width),
    close: () => statusLine.close(),
    onEvent(event: SessionEvent) {
      activity.onEvent(event)
      statusLine.onEvent(event)
    },
  }
}
