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
import { applyEnvironment, sessionPorts } from './session-ports.ts'
import type { SessionTelemetry } from '../telemetry/open-telemetry.ts'
import { isTrueValue } from '../telemetry/true-value.ts'

/** An open session, for the frontends of the program. */
export type LiveSession = OpenedSession<Flags>

/** What only a frontend can provide; the rest comes from flags, settings and the environment. */
export interface Frontend extends Omit<
  SessionFrontend,
  'removesOldSessions' | 'onSettings' | 'chooseSession' | 'openListener'
> {
  /** Whether the process has only this session: then its settings change the process environment, and old sessions are removed in the background. */
  readonly isOneShot?: boolean
  /** Adds a second listener to the events of its runs. */
  readonly openMetrics?: (sessionId: string) => Promise<Telemetry>
}

/**
 * Opens a session in the program's folder, according to flags, settings and environment.
 * @throws UsageError, ConfigurationError, PermissionRuleError and SandboxError for invalid options
 */
export async function openLiveSession(flags: Flags, program: Program, frontend: Frontend): Promise<LiveSession> {
  const { isOneShot = false, openMetrics, ...shared } = frontend
  return openSession({
    ...shared,
    choices: flags,
    ports: sessionPorts(program, flags),
    ...(isOneShot && { removesOldSessions: true, onSettings: applyEnvironment }),
    chooseSession: ({ env }) => chooseSession(flags, { ...program, env }),
    openListener: async (toolbox, { env }) => {
      const own = await openSessionTelemetry({ ...program, env }, toolbox)
      const metrics = await openMetrics?.(toolbox.sessionId)
      return metrics === undefined ? own : combinedListener(own, metrics)
    },
  })
}

function combinedListener(
  own: Awaited<ReturnType<typeof openSessionTelemetry>>,
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

/** Whether the environment turns telemetry on. This runs at every start; `telemetry-settings.ts` reads the details. */
export function wantsTelemetry(env: Environment): boolean {
  const variable = (name: string): string => env[name]?.trim().toLowerCase() ?? ''
  if (variable('OTEL_SDK_DISABLED') === 'true') return false
  const switched = variable('HALTING_TELEMETRY') || variable('CLAUDE_CODE_ENABLE_TELEMETRY')
  if (switched !== '') return isTrueValue(switched)
  const isNamed = (exporter: string): boolean => exporter !== '' && exporter !== 'none'
  if (isNamed(variable('OTEL_TRACES_EXPORTER')) || isNamed(variable('OTEL_METRICS_EXPORTER'))) return true
  return endpointVariables.some((name) => variable(name) !== '')
}

const endpointVariables = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
] as const

/** Opens the telemetry of a session, and adds the trace context to its commands. Loads nothing if telemetry is off. */
async function openSessionTelemetry(
  program: Program,
  { workspace, sessionId }: Pick<Toolbox, 'workspace' | 'sessionId'>,
): Promise<SessionTelemetry | undefined> {
  if (!wantsTelemetry(program.env)) return undefined
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts')
  const telemetry = await openTelemetry(program, { sessionId })
  workspace.traceparentOf = telemetry?.traceparentOf
  return telemetry
}
