import { DataPointType, MeterProvider, MetricReader, type MetricData } from '@opentelemetry/sdk-metrics'
import { telemetry, type Telemetry } from '@halting/telemetry'
import { metricName, type MetricFamily, type Sample } from './prometheus-text.ts'

/** Maximum number of series per instrument; further ones share one series. */
const maxSeries = 300

/** A reader that sends nothing: metrics are collected when they are requested. */
class OnDemandReader extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve()
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
}

/** The OpenTelemetry metrics of runs (docs/guide/telemetry.md), for all sessions of this process. */
export class RunMetrics {
  readonly #reader = new OnDemandReader({ cardinalitySelector: () => maxSeries })
  readonly #provider = new MeterProvider({ readers: [this.#reader] })

  /** Receives the events of one session. */
  listener(sessionId: string): Promise<Telemetry> {
    return telemetry({ meterProvider: this.#provider, sessionId })
  }

  async families(): Promise<readonly MetricFamily[]> {
    const { resourceMetrics } = await this.#reader.collect()
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(metricFamilies))
  }
}

const unitSuffixes: Readonly<Record<string, string>> = { s: '_seconds', USD: '_usd', '1': '_ratio' }

function metricFamilies(metric: MetricData): readonly MetricFamily[] {
  const { name: given, description: help, unit } = metric.descriptor
  const name = `${metricName(given)}${unitSuffixes[unit] ?? ''}`
  switch (metric.dataPointType) {
    case DataPointType.SUM: {
      const samples = metric.dataPoints.map(({ attributes, value }) => ({ labels: labelsOf(attributes), value }))
      return metric.isMonotonic
        ? [{ name: `${name}_total`, help, type: 'counter', samples }]
        : [{ name, help, type: 'gauge', samples }]
    }
    case DataPointType.GAUGE:
      return [
        {
          name,
          help,
          type: 'gauge',
          samples: metric.dataPoints.map(({ attributes, value }) => ({ labels: labelsOf(attributes), value })),
        },
      ]
    case DataPointType.HISTOGRAM:
      return [
        {
          name,
          help,
          type: 'histogram',
          samples: metric.dataPoints.flatMap(({ attributes, value }) => histogramSamples(labelsOf(attributes), value)),
        },
      ]
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      // No instrument of halting uses this type.
      return []
  }
}

interface HistogramValue {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
  readonly sum?: number
  readonly count: number
}

function histogramSamples(
  labels: Readonly<Record<string, string>>,
  { buckets, sum, count }: HistogramValue,
): readonly Sample[] {
  let upTo = 0
  const bounded = buckets.boundaries.map((boundary, at): Sample => {
    upTo += buckets.counts[at] ?? 0
    return { suffix: '_bucket', labels: { ...labels, le: String(boundary) }, value: upTo }
  })
  return [
    ...bounded,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum ?? 0 },
    { suffix: '_count', labels, value: count },
  ]
}

function labelsOf(attributes: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [metricName(name), String(value)]))
}
