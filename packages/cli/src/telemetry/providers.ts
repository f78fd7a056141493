import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtobufMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { BatchSetting, Destination, SamplerSetting, TelemetrySettings } from './telemetry-settings.ts'

/** The OpenTelemetry SDK. Loaded only if telemetry is on. */
export interface Providers {
  readonly tracerProvider: BasicTracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
  /** The first failure of an export; undefined if there was none. */
  readonly problem: () => string | undefined
  /** Sends everything that is buffered. */
  readonly flush: () => Promise<void>
  readonly shutdown: () => Promise<void>
}

export function openProviders(settings: TelemetrySettings, version: string): Providers {
  const own = resourceFromAttributes({ 'service.version': version, ...settings.resource })
  const resource = defaultResource().merge(own)
  let problem: string | undefined
  const observed = <Exporter extends Exports>(exporter: Exporter, { url }: Destination): Exporter =>
    withFailureListener(exporter, (why) => (problem ??= `${publicAddress(url)}: ${why}`))
  const { traces, metrics } = settings
  const tracerProvider =
    traces === undefined
      ? undefined
      : new BasicTracerProvider({
          resource,
          sampler: createSampler(settings.sampler),
          spanProcessors: [
            new BatchSpanProcessor(observed(traceExporter(traces), traces), batchOptions(settings.batch)),
          ],
        })
  const meterProvider =
    metrics === undefined
      ? undefined
      : new MeterProvider({
          resource,
          readers: [
            new PeriodicExportingMetricReader({
              exporter: observed(metricExporter(metrics, settings), metrics),
              exportIntervalMillis: settings.metricIntervalMs,
              exportTimeoutMillis: Math.min(30_000, settings.metricIntervalMs),
            }),
          ],
        })
  const onBoth = async (work: (provider: BasicTracerProvider | MeterProvider) => Promise<void>): Promise<void> => {
    const all = [tracerProvider, meterProvider].flatMap((provider) => (provider === undefined ? [] : [work(provider)]))
    // The listener of the exporter reports failures.
    await Promise.allSettled(all)
  }
  return {
    tracerProvider,
    meterProvider,
    problem: () => problem,
    flush: () => onBoth((provider) => provider.forceFlush()),
    shutdown: () => onBoth((provider) => provider.shutdown()),
  }
}

interface Exports {
  export(items: never, done: (result: ExportResult) => void): void
}

/** Adds a listener that is called when an export fails. */
function withFailureListener<Exporter extends Exports>(exporter: Exporter, onFailure: (why: string) => void): Exporter {
  const send = exporter.export.bind(exporter)
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code === ExportResultCode.FAILED) onFailure(failureText(result.error))
      done(result)
    })
  return exporter
}

/** The text of an export failure. Never includes the body of a response, which may contain anything. */
function failureText(error: Error | undefined): string {
  if (error === undefined) return 'it failed'
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'number') return `it answered ${code}`
  if (typeof code === 'string') return code
  // An error of several connection attempts has its code in the inner errors.
  const { errors } = error as { readonly errors?: unknown }
  const [first]: readonly unknown[] = Array.isArray(errors) ? errors : []
  if (first instanceof Error && 'code' in first && typeof first.code === 'string') return first.code
  return /timed? ?out/i.test(error.message) ? 'it did not answer in time' : 'it could not be reached'
}

/** The address without user name, password and query, which may contain keys. */
export function publicAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

function batchOptions({ delayMs, timeoutMs, maxWaiting, maxAtOnce }: BatchSetting) {
  return {
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: timeoutMs,
    maxQueueSize: maxWaiting,
    maxExportBatchSize: Math.min(maxAtOnce, maxWaiting),
  }
}

/** Exporters read these variables themselves and merge them into their options, including invalid headers. */
const headerVariables = ['', 'TRACES_', 'METRICS_'].map((signal) => `OTEL_EXPORTER_OTLP_${signal}HEADERS`)

function withoutHeaderVariables<Exporter>(make: () => Exporter): Exporter {
  const saved = headerVariables.map((name) => [name, process.env[name]] as const)
  for (const name of headerVariables) delete process.env[name]
  try {
    return make()
  } finally {
    for (const [name, value] of saved) if (value !== undefined) process.env[name] = value
  }
}

function exporterOptions({ url, headers, timeoutMs, isCompressed }: Destination) {
  return {
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    // This cast is safe: these are the values of the library's enumeration, which it does not export.
    compression: (isCompressed ? 'gzip' : 'none') as never,
  }
}

function traceExporter(destination: Destination): JsonTraceExporter | ProtobufTraceExporter {
  const options = exporterOptions(destination)
  const isJson = destination.protocol === 'http/json'
  return withoutHeaderVariables(() => (isJson ? new JsonTraceExporter(options) : new ProtobufTraceExporter(options)))
}

function metricExporter(
  destination: Destination,
  { temporality }: TelemetrySettings,
): JsonMetricExporter | ProtobufMetricExporter {
  const preferences = { delta: 0, cumulative: 1, lowmemory: 2 } as const
  const options = { ...exporterOptions(destination), temporalityPreference: preferences[temporality] }
  const isJson = destination.protocol === 'http/json'
  return withoutHeaderVariables(() => (isJson ? new JsonMetricExporter(options) : new ProtobufMetricExporter(options)))
}

function createSampler({ kind, isParentBased, ratio }: SamplerSetting): Sampler {
  const root = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  }[kind]()
  return isParentBased ? new ParentBasedSampler({ root }) : root
}
