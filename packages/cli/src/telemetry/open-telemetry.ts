import { redactSecrets } from '@halting/agent'
import { type Telemetry, telemetry } from '@halting/telemetry'
import { createKeyRedactor } from '@halting/models'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'
import { openProviders, publicAddress, type Providers } from './providers.ts'
import { type TelemetrySettings, telemetrySettings } from './telemetry-settings.ts'

/** The telemetry of a session. */
export interface SessionTelemetry extends Telemetry {
  /** Ends open spans and sends everything within two seconds. A failure is reported once per process. */
  readonly end: () => Promise<void>
}

/** Providers of this process by configuration. A worker shares them among many sessions. */
const shared = new Map<string, { readonly providers: Providers; users: number }>()
/** Lines that were already reported, since every session has the same variables. */
const reportedLines = new Set<string>()

/** How long the end of a session waits for a collector. */
const flushTimeoutMs = 2_000

/** Opens the telemetry that the environment configures; undefined if none of it is valid. */
export async function openTelemetry(
  program: Pick<Program, 'env' | 'output' | 'home'>,
  { sessionId }: { readonly sessionId: string },
): Promise<SessionTelemetry | undefined> {
  const { env, output } = program
  const settings = telemetrySettings(env)
  const report = (line: string): void => {
    if (reportedLines.has(line)) return
    reportedLines.add(line)
    output.err(programMessage(line))
  }
  for (const problem of settings.problems) report(problem)
  const { traces, metrics } = settings
  if (traces === undefined && metrics === undefined) return undefined
  const { key, providers } = acquireProviders(settings, versionOf(program))
  const listener = await telemetry({
    tracerProvider: providers.tracerProvider,
    meterProvider: providers.meterProvider,
    content: settings.content,
    redact: telemetryRedactor(program, settings),
    sessionId,
    onProblem: report,
    ...(settings.parent !== undefined && { parent: settings.parent }),
  })
  return {
    ...listener,
    async end() {
      listener.close()
      const sent = releaseProviders(key)
      if ((await withTimeout(sent, flushTimeoutMs)) === 'late') {
        const places = [traces, metrics].flatMap((place) => (place === undefined ? [] : [publicAddress(place.url)]))
        report(`some telemetry was not sent: ${places[0] ?? ''} did not answer within ${flushTimeoutMs / 1000} s.`)
        return
      }
      const problem = providers.problem()
      if (problem !== undefined) report(`some telemetry was not sent to ${problem}.`)
    },
  }
}

function acquireProviders(
  settings: TelemetrySettings,
  version: string,
): { readonly key: string; readonly providers: Providers } {
  const { traces, metrics, resource, sampler, batch, metricIntervalMs, temporality } = settings
  const key = JSON.stringify([traces, metrics, resource, sampler, batch, metricIntervalMs, temporality])
  const entry = shared.get(key) ?? { providers: openProviders(settings, version), users: 0 }
  entry.users++
  shared.set(key, entry)
  return { key, providers: entry.providers }
}

async function releaseProviders(key: string): Promise<void> {
  const entry = shared.get(key)
  if (entry === undefined) return
  if (--entry.users > 0) return entry.providers.flush()
  shared.delete(key)
  return entry.providers.shutdown()
}

async function withTimeout(work: Promise<void>, ms: number): Promise<'done' | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms)
  })
  try {
    return await Promise.race([work.then(() => 'done' as const), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Redacts keys of this process, and secrets with a known form. */
function telemetryRedactor(
  { env }: Pick<Program, 'env'>,
  { traces, metrics }: TelemetrySettings,
): (text: string) => string {
  const headers = [...Object.values(traces?.headers ?? {}), ...Object.values(metrics?.headers ?? {})]
  const keys = [...headers, ...headers.map(withoutScheme)]
  // A short key is not redacted, because it could be an ordinary word.
  const known = [...new Set(keys)].filter((key) => key.length >= 8).toSorted((a, b) => b.length - a.length)
  const redactKeys = createKeyRedactor(env)
  return (text) => known.reduce((shown, key) => shown.replaceAll(key, '[REDACTED]'), redactSecrets(redactKeys(text)))
}

function withoutScheme(value: string): string {
  return value.replace(/^\w+\s+/, '')
}
