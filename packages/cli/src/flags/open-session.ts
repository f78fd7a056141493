import { type LiveSession as OpenedSession, openSession, type SessionFrontend } from '@halting/agent/open-session'
import type { RunEvent } from '@halting/core'
import type { Program } from '../program.ts'
import { chooseSession } from './choose-session.ts'
import type { Telemetry } from '@halting/telemetry'
import { telemetryFor } from '../telemetry/wanted.ts'
import type { Flags } from './flags.ts'
import { applyEnvironment, portsOf } from './session-ports.ts'

/** A session as the frontends of the program show it. */
export type LiveSession = OpenedSession<Flags>

/** What a frontend gives a session that only it can; flags, settings and the environment have all else. */
export interface Face extends Omit<
  SessionFrontend,
  'removesOldSessions' | 'onSettings' | 'chooseSession' | 'openListener'
> {
  /** The one session of this process: the environment of its settings holds for all of it, and old sessions are removed meanwhile. */
  readonly isOneShot?: boolean
  /** Hears the events of its runs, too. */
  readonly openMetrics?: (sessionId: string) => Promise<Telemetry>
}

/**
 * Opens a session as flags, settings and environment say, in the folder of the program.
 * @throws UsageError, ConfigurationError, PermissionRuleError and SandboxError for what cannot be served.
 */
export async function openLive(flags: Flags, program: Program, face: Face): Promise<LiveSession> {
  const { isOneShot = false, openMetrics, ...frontend } = face
  return openSession({
    ...frontend,
    choices: flags,
    ports: portsOf(program, flags),
    ...(isOneShot && { removesOldSessions: true, onSettings: applyEnvironment }),
    chooseSession: ({ env }) => chooseSession(flags, { ...program, env }),
    openListener: async (toolbox, { env }) => {
      const own = await telemetryFor({ ...program, env }, toolbox)
      const metrics = await openMetrics?.(toolbox.sessionId)
      return metrics === undefined ? own : withMetrics(own, metrics)
    },
  })
}

function withMetrics(
  own: Awaited<ReturnType<typeof telemetryFor>>,
  metrics: Telemetry,
): { readonly onEvent: (event: RunEvent) => void; readonly end: () => Promise<void> } {
  return {
    onEvent(event) {
      own?.onEvent(event)
      metrics.onEvent(event)
    },
    async end() {
      metrics.close()
      await own?.end()
    },
  }
}
