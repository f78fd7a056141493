import type { WorkerEvent, WorkerFigures } from '@halting/restate'
import type { Telemetry } from '@halting/telemetry'

/** The metrics of a worker, for `GET /metrics`. */
export interface Metrics {
  readonly onEvent: (event: WorkerEvent) => void
  /** Receives the events of one session's runs. */
  readonly listener: (sessionId: string) => Promise<Telemetry>
  /** All metrics in the Prometheus text format. */
  readonly text: (figures: WorkerFigures) => Promise<string>
}

/** Loads the OpenTelemetry SDK, which only workers need. */
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
