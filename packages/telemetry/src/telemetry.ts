import type * as Api from '@opentelemetry/api'
import { ConfigurationError, type RunEvent } from '@halting/core'
import { AttributeTexts } from './content.ts'
import { FailureGuard } from './guard.ts'
import { Instruments } from './metrics.ts'
import type { TelemetryOptions } from './options.ts'
import { providerOf } from './provider-of.ts'
import { RunTrace } from './run-trace.ts'
import type { TraceScope } from './scope.ts'

/** Converts events of runs into spans and metrics. */
export interface Telemetry {
  /** Pass it as `onEvent` to a query, an engine or a coding agent, for one session at a time. Never throws. */
  readonly onEvent: (event: RunEvent) => void
  /**
   * Returns the span of a running call as a W3C header, for a program that the tool starts, or else the span of the
   * run. Undefined if nothing is exported.
   */
  readonly traceparentOf: (callId: string) => string | undefined
  /** Ends open spans, for a session that is abandoned during a run. */
  readonly close: () => void
}

const disabledTelemetry: Telemetry = Object.freeze({
  onEvent: () => {},
  traceparentOf: () => undefined,
  close: () => {},
})

/**
 * Creates a listener that exports runs to OpenTelemetry: spans for runs, turns, attempts, calls, hooks, compactions and
 * subagents, and metrics. Without a provider it does nothing. Names follow the GenAI conventions;
 * docs/guide/telemetry.md lists them.
 * @throws ConfigurationError if a provider is given and `@opentelemetry/api` is not installed.
 */
export async function telemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  const { tracerProvider, meterProvider, onProblem } = options
  if (tracerProvider === undefined && meterProvider === undefined) return disabledTelemetry
  const api = await loadApi()
  const guard = new FailureGuard(onProblem)
  const { now = clock(), providerOf: given } = options
  // Guard each separately: if one fails, the other still works.
  const tracer = guard.try(() => tracerProvider?.getTracer('halting'))
  const scope: TraceScope = {
    api,
    tracing: tracer === undefined ? undefined : { api, tracer, guard },
    instruments: guard.try(() => instrumentsOf(meterProvider, api, guard)),
    texts: new AttributeTexts(options, guard),
    providerOf: given === undefined ? providerOf : (model) => guard.try(() => given(model)) ?? 'unknown',
    now,
  }
  return new TracedSession(scope, options, guard)
}

function instrumentsOf(
  provider: Api.MeterProvider | undefined,
  api: typeof Api,
  guard: FailureGuard,
): Instruments | undefined {
  const meter = provider?.getMeter('halting')
  return meter === undefined || meter === api.createNoopMeter()
    ? undefined
    : new Instruments(meter, api.ValueType, guard)
}

/** Returns a clock in milliseconds since 1970, with fractions. */
function clock(): () => number {
  const { timeOrigin } = performance
  return () => timeOrigin + performance.now()
}

async function loadApi(): Promise<typeof Api> {
  try {
    return await import('@opentelemetry/api')
  } catch {
    throw new ConfigurationError(
      'Telemetry needs @opentelemetry/api, which is not installed. Add it with: npm install @opentelemetry/api',
    )
  }
}

/** The consecutive runs of one session. */
class TracedSession implements Telemetry {
  readonly #scope: TraceScope
  readonly #options: TelemetryOptions
  readonly #guard: FailureGuard
  #run: RunTrace | undefined
  /** False if events until the next run can be ignored. */
  #isObserved = true

  constructor(scope: TraceScope, options: TelemetryOptions, guard: FailureGuard) {
    this.#scope = scope
    this.#options = options
    this.#guard = guard
  }

  readonly onEvent = (event: RunEvent): void => {
    try {
      this.#observe(event)
    } catch (thrown) {
      this.#guard.failed(thrown)
    }
  }

  readonly traceparentOf = (callId: string): string | undefined =>
    this.#guard.try(() => {
      const place = this.#run?.placeOf(callId)
      return place === undefined ? undefined : headerOf(place)
    })

  readonly close = (): void => {
    this.#guard.try(() => {
      this.#run?.abandon()
      this.#forget()
    })
  }

  #observe(event: RunEvent): void {
    if (event.type === 'run_start') {
      // The previous run reported no end.
      this.#run?.abandon()
      this.#run = this.#newRunTrace(event)
      this.#isObserved = this.#run.isObserved
      return
    }
    // Background work of a run continues after it.
    if (this.#run === undefined && (event.type === 'background' || event.type === 'notice')) return
    if (!this.#isObserved) {
      if (event.type === 'run_end') this.#forget()
      return
    }
    this.#run ??= this.#newRunTrace(undefined)
    this.#run.observe(event)
    this.#isObserved = this.#run.isObserved
    if (this.#run.isOver) this.#forget()
  }

  #forget(): void {
    this.#run = undefined
    this.#isObserved = true
  }

  #newRunTrace(start: Extract<RunEvent, { readonly type: 'run_start' }> | undefined): RunTrace {
    const { parent, agentName = 'halting', sessionId } = this.#options
    const { api } = this.#scope
    const outer = parent === undefined ? undefined : spanContextOf(api, parent)
    const place = {
      parent: outer === undefined ? undefined : { context: api.trace.setSpanContext(api.ROOT_CONTEXT, outer) },
      outerSpanId: outer?.spanId,
      agentName: start?.run.agentId ?? agentName,
      isBackground: false,
      depth: 0,
      isResumed: start === undefined || start.isResumed === true,
      sessionId,
    }
    return new RunTrace(this.#scope, place, start)
  }
}

const header = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/

/** Parses the headers; undefined if they are invalid, so that a run starts its own trace. */
function spanContextOf(
  api: typeof Api,
  { traceparent, tracestate }: NonNullable<TelemetryOptions['parent']>,
): Api.SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = '00'] = header.exec(traceparent.trim()) ?? []
  const state = tracestate === undefined ? {} : { traceState: api.createTraceState(tracestate) }
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true, ...state }
  return api.isSpanContextValid(spanContext) ? spanContext : undefined
}

function headerOf({ traceId, spanId, traceFlags }: Api.SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
