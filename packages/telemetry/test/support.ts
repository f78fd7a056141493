import {
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { streamRun, startRun, type RunEvent, type RunOptions, type Prices, type StartOptions } from '@halting/core'
import { createMemorySteps, type MemorySteps } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'
import { telemetry, type TelemetryOptions } from '../src/index.ts'

/** One dollar per token, so that sums are exact. */
export const prices: Prices = {
  cost: (_model, usage) =>
    usage.input_tokens + usage.output_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens,
  worstCase: (_model, { inputTokens, outputTokens }) => inputTokens + outputTokens,
}

/** Keeps all spans and metrics in memory. */
export function collector() {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 1e8 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  return {
    tracerProvider,
    meterProvider,
    spans: (): readonly ReadableSpan[] => exporter.getFinishedSpans(),
    /** Data points of one metric. */
    async points(
      name: string,
    ): Promise<readonly { readonly attributes: object; readonly value: number; readonly count: number }[]> {
      await meterProvider.forceFlush()
      const last = metricExporter.getMetrics().at(-1)
      const metrics = last?.scopeMetrics.flatMap(({ metrics: all }) => all) ?? []
      const found = metrics.find(({ descriptor }) => descriptor.name === name)
      // The points have one of several types, and each is read by itself.
      const points: readonly DataPoint<unknown>[] = found?.dataPoints ?? []
      return points.map(({ attributes, value }) => {
        if (typeof value === 'number') return { attributes, value, count: 1 }
        // A value that is not a number is a histogram, the only other kind here.
        const { sum = 0, count } = value as Histogram
        return { attributes, value: sum, count }
      })
    },
  }
}

export type Collector = ReturnType<typeof collector>

export async function listenerOf(to: Collector, more: TelemetryOptions = {}) {
  return telemetry({ tracerProvider: to.tracerProvider, meterProvider: to.meterProvider, ...more })
}

/** Executes a run to its end under a fake clock, and passes all of its events to `onEvent`. */
export async function runToEnd(
  options: Omit<RunOptions, 'steps' | 'clock'>,
  onEvent: (event: RunEvent) => void,
  start: StartOptions = { prompt: 'go' },
): Promise<{ readonly steps: MemorySteps; readonly terminal: Awaited<ReturnType<typeof streamRun>['result']> }> {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  const running = streamRun(startRun(start), { ...options, clock, steps })
  for await (const event of running) onEvent(event)
  return { steps, terminal: await running.result }
}

export interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}

/** The spans as a tree, ordered by start time. */
export function treeOf(spans: readonly ReadableSpan[]): readonly Tree[] {
  const under = (parent: string | undefined): readonly Tree[] =>
    spans
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
      .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
      .map((span) => ({ name: span.name, children: under(span.spanContext().spanId) }))
  return under(undefined)
}

/** As indented lines. */
export function linesOf(trees: readonly Tree[], depth = 0): readonly string[] {
  return trees.flatMap(({ name, children }) => [`${'  '.repeat(depth)}${name}`, ...linesOf(children, depth + 1)])
}
