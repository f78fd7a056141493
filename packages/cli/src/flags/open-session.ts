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

/** A session as the frontends of the program show it. */
export type LiveSession = OpenedSession<Flags>

/** What a frontend gives a session that only it can; flags, settings and the environment have all else. */
export interface LiveFrontend extends Omit<
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
export async function openLiveSession(
  flags: Flags,
  program: Program,
  liveFrontend: LiveFrontend,
): Promise<LiveSession> {
  const { isOneShot = false, openMetrics, ...frontend } = liveFrontend
  return openSession({
    ...frontend,
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

/** Whether the environment asks for telemetry at all. Read at every start: what it asks for in detail is read by `telemetry-settings.ts`. */
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

/** The telemetry of a session, whose commands have the spans of their calls from then on. Nothing of it is loaded where nobody asks for it. */
export async function openSessionTelemetry(
  program: Program,
  { workspace, sessionId }: Pick<Toolbox, 'workspace' | 'sessionId'>,
): Promise<SessionTelemetry | undefined> {
  if (!wantsTelemetry(program.env)) return undefined
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts')
  const telemetry = await openTelemetry(program, { sessionId })
  workspace.traceparentOf = telemetry?.traceparentOf
  return telemetry
}
