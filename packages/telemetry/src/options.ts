import type { MeterProvider, TracerProvider } from '@opentelemetry/api'

/** Content of the conversation to export. Default: none. */
export interface ExportedContent {
  /** Prompts of users. */
  readonly prompts?: boolean
  /** Replies of models. */
  readonly replies?: boolean
  /** Inputs of tools. */
  readonly toolInputs?: boolean
  /** Results of tools. */
  readonly toolResults?: boolean
}

/** Options of telemetry. */
export interface TelemetryOptions {
  /** Receives the spans. Default: no spans. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Receives the metrics. Default: no metrics. */
  readonly meterProvider?: MeterProvider | undefined
  /** Content to export, or true for all of it. Each text is redacted and truncated to `maxCharacters`. */
  readonly content?: boolean | ExportedContent
  /** Maximum characters of an attribute (default: 8,192). */
  readonly maxCharacters?: number
  /** Redacts a text (default: removes secrets of known formats). */
  readonly redact?: (text: string) => string
  /** Parent trace of the runs, as W3C headers. Default: each run has its own trace. */
  readonly parent?: {
    /** The header `traceparent`. */
    readonly traceparent: string
    /** The header `tracestate` (default: none). */
    readonly tracestate?: string
  }
  /** Name of the main agent (default: `halting`). */
  readonly agentName?: string
  /** Id of the session, for a run that an earlier process started: only the start of a run reports it. */
  readonly sessionId?: string
  /** Returns the provider of a model in the terms of the conventions (default: by the model name). */
  readonly providerOf?: (model: string) => string
  /** Called once when a provider throws. Runs continue. */
  readonly onProblem?: (message: string) => void
  /** Returns milliseconds since 1970, with fractions. For tests. */
  readonly now?: () => number
}
