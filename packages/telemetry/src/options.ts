import type { MeterProvider, TracerProvider } from '@opentelemetry/api'

/** What of a conversation may be told. Nothing of it is, unless it is asked for. */
export interface ExportedContent {
  /** What persons wrote. */
  readonly prompts?: boolean
  /** What models answered. */
  readonly replies?: boolean
  /** What tools were called with. */
  readonly toolInputs?: boolean
  /** What they gave. */
  readonly toolResults?: boolean
}

/** Options of telemetry. */
export interface TelemetryOptions {
  /** Takes the spans; none without it. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Takes the metrics; none without it. */
  readonly meterProvider?: MeterProvider | undefined
  /** True: all of it. Each text is redacted and cut at `mostCharacters`. */
  readonly content?: boolean | ExportedContent
  /** 8,192 characters of one attribute unless said otherwise. */
  readonly mostCharacters?: number
  /** What of a text may be told; without the secrets that are known by their form unless said otherwise. */
  readonly redact?: (text: string) => string
  /** The trace that runs belong to, as W3C headers. Each run is a trace of its own without it. */
  readonly parent?: {
    /** The header `traceparent`. */
    readonly traceparent: string
    /** The header `tracestate`. Default: none. */
    readonly tracestate?: string
  }
  /** What the main agent is called; `halting` unless said otherwise. */
  readonly agentName?: string
  /** The session, for a run that goes on from an earlier process: only its beginning tells it. */
  readonly sessionId?: string
  /** Who serves a model, as the conventions name it; by its name unless said otherwise. */
  readonly providerOf?: (model: string) => string
  /** Is told once when a provider throws. Runs go on. */
  readonly onProblem?: (message: string) => void
  /** Milliseconds since 1970, with fractions. For tests. */
  readonly now?: () => number
}
