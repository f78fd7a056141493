import type { Program } from '../program.ts'
import type { Toolbox } from '@halting/agent/open-session'
import type { SessionTelemetry } from './open-telemetry.ts'
import { isYes } from './yes.ts'

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
  const { openTelemetry } = await import('./open-telemetry.ts')
  const telemetry = await openTelemetry(program, { sessionId })
  workspace.traceparentOf = telemetry?.traceparentOf
  return telemetry
}
