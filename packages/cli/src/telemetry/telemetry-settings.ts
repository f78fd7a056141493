import type { ExportedContent } from '@halting/telemetry'
import { isTrueValue } from './true-value.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Protocol = 'http/json' | 'http/protobuf'

/** Where spans or metrics are sent, and how. */
export interface Destination {
  readonly url: string
  readonly protocol: Protocol
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly isCompressed: boolean
}

export interface SamplerSetting {
  readonly kind: 'always_on' | 'always_off' | 'traceidratio'
  readonly isParentBased: boolean
  readonly ratio: number
}

/** How spans are batched. */
export interface BatchSetting {
  readonly delayMs: number
  readonly timeoutMs: number
  /** Maximum number of queued spans; further ones are dropped. */
  readonly maxWaiting: number
  readonly maxAtOnce: number
}

/** The telemetry settings of the environment. JSON. */
export interface TelemetrySettings {
  readonly traces: Destination | undefined
  readonly metrics: Destination | undefined
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerSetting
  readonly batch: BatchSetting
  readonly metricIntervalMs: number
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory'
  readonly content: Required<ExportedContent>
  readonly parent: { readonly traceparent: string; readonly tracestate?: string } | undefined
  /** Descriptions of ignored variables, one sentence each. */
  readonly problems: readonly string[]
}

type Signal = 'TRACES' | 'METRICS'

/** Reads the OpenTelemetry variables, and those of other coding agents. */
export function telemetrySettings(env: Environment): TelemetrySettings {
  return new Reader(env).read()
}

class Reader {
  readonly #env: Environment
  readonly #problems: string[] = []

  constructor(env: Environment) {
    this.#env = env
  }

  read(): TelemetrySettings {
    const [traces, metrics] = [this.#destination('TRACES'), this.#destination('METRICS')]
    const logs = this.#text('OTEL_LOGS_EXPORTER')
    if (logs !== undefined && logs !== 'none' && traces === undefined)
      this.#problems.push(
        'OTEL_LOGS_EXPORTER is ignored, because halting sends no logs. Spans have this information: set OTEL_TRACES_EXPORTER=otlp.',
      )
    const traceparent = this.#text('TRACEPARENT')
    const tracestate = this.#text('TRACESTATE')
    return {
      traces,
      metrics,
      resource: this.#resource(),
      sampler: this.#sampler(),
      batch: {
        delayMs: this.#milliseconds('OTEL_BSP_SCHEDULE_DELAY', 5_000),
        timeoutMs: this.#milliseconds('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
        maxWaiting: this.#count('OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
        maxAtOnce: this.#count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
      },
      metricIntervalMs: this.#milliseconds('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
      temporality: this.#oneOf(
        'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
        ['cumulative', 'delta', 'lowmemory'] as const,
        'cumulative',
      ),
      content: this.#content(),
      parent: traceparent === undefined ? undefined : { traceparent, ...(tracestate !== undefined && { tracestate }) },
      // Spans and metrics read some of the same variables.
      problems: [...new Set(this.#problems)],
    }
  }

  #text(name: string): string | undefined {
    const value = this.#env[name]?.trim()
    return value === '' ? undefined : value
  }

  #oneOf<Value extends string>(name: string, known: readonly Value[], defaultValue: Value): Value {
    const setting = this.#text(name)?.toLowerCase()
    const found = known.find((value) => value === setting)
    if (setting !== undefined && found === undefined)
      this.#problems.push(`${name} must be one of ${known.join(', ')}. The default ${defaultValue} is used.`)
    return found ?? defaultValue
  }

  #milliseconds(name: string, defaultValue: number): number {
    const setting = this.#text(name)
    if (setting === undefined) return defaultValue
    const value = Number(setting)
    // The maximum delay of a Node timer.
    if (Number.isFinite(value) && value >= 1 && value < 2 ** 31) return Math.round(value)
    this.#problems.push(`${name} must be a number of milliseconds, 1 or more. The default ${defaultValue} is used.`)
    return defaultValue
  }

  #count(name: string, defaultValue: number): number {
    const setting = this.#text(name)
    if (setting === undefined) return defaultValue
    const value = Number(setting)
    if (Number.isSafeInteger(value) && value >= 1) return value
    this.#problems.push(`${name} must be a whole number, 1 or more. The default ${defaultValue} is used.`)
    return defaultValue
  }

  #destination(signal: Signal): Destination | undefined {
    if (this.#exporter(signal) !== 'otlp') return undefined
    const protocol = this.#protocol(signal)
    const url = this.#url(signal)
    if (protocol === undefined || url === undefined) return undefined
    return {
      url,
      protocol,
      headers: {
        ...this.#headers('OTEL_EXPORTER_OTLP_HEADERS'),
        ...this.#headers(`OTEL_EXPORTER_OTLP_${signal}_HEADERS`),
      },
      timeoutMs: this.#milliseconds(this.#nameFor(signal, 'TIMEOUT'), 10_000),
      isCompressed: this.#oneOf(this.#nameFor(signal, 'COMPRESSION'), ['none', 'gzip'] as const, 'none') === 'gzip',
    }
  }

  #exporter(signal: Signal): 'otlp' | 'none' {
    const name = `OTEL_${signal}_EXPORTER`
    const setting = this.#text(name)?.toLowerCase()
    if (setting === undefined) {
      // If one exporter is set, the other is off.
      const other = this.#text(`OTEL_${signal === 'TRACES' ? 'METRICS' : 'TRACES'}_EXPORTER`)?.toLowerCase()
      const hasOwnPlace = this.#text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== undefined
      return other === undefined || other === 'none' || hasOwnPlace ? 'otlp' : 'none'
    }
    const names = setting.split(',').map((each) => each.trim())
    if (names.includes('otlp')) return 'otlp'
    if (!names.includes('none'))
      this.#problems.push(`${name} must be otlp or none, not ${quoted(setting)}. ${signalNoun(signal)} are not sent.`)
    return 'none'
  }

  /** The name of the variable of this signal if that is set, otherwise of the common one. */
  #nameFor<What extends 'PROTOCOL' | 'TIMEOUT' | 'COMPRESSION'>(signal: Signal, what: What) {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${what}` as const
    return this.#text(own) === undefined ? (`OTEL_EXPORTER_OTLP_${what}` as const) : own
  }

  #protocol(signal: Signal): Protocol | undefined {
    const name = this.#nameFor(signal, 'PROTOCOL')
    const setting = this.#text(name)?.toLowerCase() ?? 'http/protobuf'
    if (setting === 'http/json' || setting === 'http/protobuf') return setting
    const instead = setting === 'grpc' ? 'not grpc, which halting does not support' : `not ${quoted(setting)}`
    this.#problems.push(
      `${name} must be http/protobuf or http/json, ${instead}. Collectors usually accept both at port 4318. ${signalNoun(signal)} are not sent.`,
    )
    return undefined
  }

  #url(signal: Signal): string | undefined {
    const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
    const name = this.#text(own) === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : own
    const setting = this.#text(name) ?? 'http://localhost:4318'
    const url = URL.canParse(setting) ? new URL(setting) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      this.#problems.push(
        `${name} must be an address that begins with http:// or https://. ${signalNoun(signal)} are not sent.`,
      )
      return undefined
    }
    if (name !== own) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${signal.toLowerCase()}`
    return url.href
  }

  /** Messages do not repeat values, which are keys. */
  #headers(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.#pairs(name).filter(([header, value]) => {
        // The characters that Node accepts in a header.
        const isFine = /^[\w!#$%&'*+.^`|~-]+$/.test(header) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
        if (!isFine) this.#problems.push(`${name}: ${quoted(header)} is not a valid header, and is ignored.`)
        return isFine
      }),
    )
  }

  #pairs(name: string): readonly (readonly [string, string])[] {
    const parts = (this.#text(name) ?? '').split(',').filter((part) => part.trim() !== '')
    return parts.flatMap((part) => {
      const at = part.indexOf('=')
      const key = part.slice(0, at).trim()
      if (at > 0 && key !== '') return [[decoded(key), decoded(part.slice(at + 1).trim())] as const]
      this.#problems.push(`${name} must be name=value pairs, separated by commas. One invalid part is ignored.`)
      return []
    })
  }

  #resource(): Readonly<Record<string, string>> {
    const attributes = Object.fromEntries(this.#pairs('OTEL_RESOURCE_ATTRIBUTES'))
    const name = this.#text('OTEL_SERVICE_NAME') ?? attributes['service.name'] ?? 'halting'
    return { ...attributes, 'service.name': name }
  }

  #sampler(): SamplerSetting {
    const kinds = ['always_on', 'always_off', 'traceidratio'] as const
    const names = kinds.flatMap((kind) => [kind, `parentbased_${kind}`] as const)
    const setting = this.#oneOf('OTEL_TRACES_SAMPLER', names, 'parentbased_always_on')
    const kind = kinds.find((each) => setting.endsWith(each)) ?? 'always_on'
    return {
      kind,
      isParentBased: setting.startsWith('parentbased_'),
      ratio: kind === 'traceidratio' ? this.#ratio() : 1,
    }
  }

  #ratio(): number {
    const setting = this.#text('OTEL_TRACES_SAMPLER_ARG')
    const ratio = setting === undefined ? 1 : Number(setting)
    if (ratio >= 0 && ratio <= 1) return ratio
    this.#problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1. The default 1 is used.')
    return 1
  }

  #content(): Required<ExportedContent> {
    const isSet = (name: string): boolean => isTrueValue(this.#text(name)?.toLowerCase() ?? '')
    const all = isSet('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')
    const results = all || isSet('OTEL_LOG_TOOL_CONTENT')
    return {
      prompts: all || isSet('OTEL_LOG_USER_PROMPTS'),
      replies: all,
      toolInputs: results || isSet('OTEL_LOG_TOOL_DETAILS'),
      toolResults: results,
    }
  }
}

function signalNoun(signal: Signal): string {
  return signal === 'TRACES' ? 'Spans' : 'Metrics'
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
