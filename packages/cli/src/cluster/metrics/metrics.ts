import type { WorkerEvent, WorkerFigures } from '@halting/restate'
import type { Telemetry } from '@halting/telemetry'

/** What a worker measures, for `GET /metrics`. */
export interface Metrics {
  readonly onEvent: (event: WorkerEvent) => void
  /** For the events of the runs of one session. */
  readonly listener: (sessionId: string) => Promise<Telemetry>
  /** All of it, in the text format of Prometheus. */
  readonly text: (figures: WorkerFigures) => Promise<string>
}

/** The SDK of OpenTelemetry is loaded here, by workers alone. */
export async function openMetrics(): Promise<Metrics> {
  const { RunMetrics } = await import('./run-metrics.ts')
  const { WorkerMetrics } = await import('./worker-metrics.ts')
  const { prometheusText } = await import('./prometheus-text.ts')
  const runs = new RunMetrics()
  const worker = new WorkerMetrics()
  return {
    onEvent: (event) => worker.onEvent(event),
    listener: (sessionId) => runs.listener(sessionId),
    text: async (figures) => prometheusText([...worker.families(figures), ...(await runs.families())]),
  }
}
