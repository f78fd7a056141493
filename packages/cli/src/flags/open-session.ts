import {
  openSession,
  type LiveSession as OpenedSession,
  type SessionFrontend,
  type Toolbox,
} from '@halting/agent/open-session'
import type { RunEvent } from '@halting/core'
import type { Program } from '../program.ts'
import { chooseSession } from './choose-session.ts'
import type { Telemetry } from '@halting/telemetry'
import type { Flags } from './flags.ts'
import { applyEnvironment, portsOf } from './session-ports.ts'
import type { SessionTelemetry } from '../telemetry/open-telemetry.ts'
import { isYes } from '../telemetry/yes.ts'

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

type Environment = Readonly<Record<string, string | undefined>>

/** Whether the environment asks for telemetry at all. Read at every start: what it asks for in detail is read by `telemetry-settings.ts`. */
export function wantsTelemetry(env: Environment): boolean {
  const said = (name: string): string => env[name]?.trim().toLowerCase() ?? ''
  if (said('OTEL_SDK_DISABLED') === 'true') return false
  const switched = said('HALTING_TELEMETRY') || said('CLAUDE_CODE_ENABLE_TELEMETRY')
  if (switched !== '') return isYes(switched)
  const isNamed = (exporter: string): boolean => exporter !== '' && exporter !== 'none'
  if (isNamed(said('OTEL_TRACES_EXPORTER')) || isNamed(said('OTEL_METRICS_EXPORTER'))) return true
  return endpointVariables.some((name) => said(name) !== '')
}

const endpointVariables = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
] as const

/** The telemetry of a session, whose commands have the spans of their calls from then on. Nothing of it is loaded where nobody asks for it. */
export async function telemetryFor(
  program: Program,
  { workspace, sessionId }: Pick<Toolbox, 'workspace' | 'sessionId'>,
): Promise<SessionTelemetry | undefined> {
  if (!wantsTelemetry(program.env)) return undefined
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts')
  const telemetry = await openTelemetry(program, { sessionId })
  workspace.traceparentOf = telemetry?.traceparentOf
  return telemetry
}
