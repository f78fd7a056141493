import type * as Api from '@opentelemetry/api'
import type { FailureGuard } from './guard.ts'
import { ownAttributes } from './names.ts'

/** Dependencies of spans. */
export interface Tracing {
  readonly api: typeof Api
  readonly tracer: Api.Tracer
  readonly guard: FailureGuard
}

interface NodeOptions {
  readonly kind: Api.SpanKind
  readonly attributes: Api.Attributes
  /** Milliseconds since 1970. */
  readonly startTime: number
}

/**
 * A step of a run. Its span is created only when it is known that this process executes the step: the process that
 * recorded a step exported it. Beginning a node also begins its parents.
 */
export class TraceNode {
  readonly #tracing: Tracing | undefined
  readonly #parent: TraceNode | undefined
  readonly #outer: Api.Context | undefined
  readonly #name: string
  readonly #options: NodeOptions
  #span: Api.Span | undefined
  #isRecording = false
  #context: Api.Context | undefined
  #isBegun = false
  #isEnded = false

  constructor(
    tracing: Tracing | undefined,
    parent: TraceNode | { readonly context: Api.Context } | undefined,
    name: string,
    options: NodeOptions,
  ) {
    this.#tracing = tracing
    this.#parent = parent instanceof TraceNode ? parent : undefined
    this.#outer = parent instanceof TraceNode ? undefined : parent?.context
    this.#name = name
    this.#options = options
  }

  /** Whether this process executes the step. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Whether attributes are recorded; if not, expensive ones need not be computed. */
  get isRecording(): boolean {
    return this.#isRecording
  }

  /** The context of the span; undefined without one, as with a no-op provider. */
  get spanContext(): Api.SpanContext | undefined {
    const [span, tracing] = [this.#span, this.#tracing]
    if (span === undefined || tracing === undefined) return undefined
    const place = tracing.guard.try(() => span.spanContext())
    return place !== undefined && tracing.api.isSpanContextValid(place) ? place : undefined
  }

  /** Returns the seconds from the start until the given time. */
  secondsUntil(at: number): number {
    return (at - this.#options.startTime) / 1000
  }

  begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    this.#parent?.begin()
    const tracing = this.#tracing
    // The step ended before any live event, so another process exported it. Its children become children of its parent.
    if (tracing === undefined || this.#isEnded) return
    try {
      const span = tracing.tracer.startSpan(this.#name, this.#options, this.#around(tracing))
      this.#span = span
      this.#isRecording = span.isRecording()
    } catch (thrown) {
      tracing.guard.failed(thrown)
    }
  }

  /** Ends the span; later calls have no effect. */
  end(at: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#isRecording = false
    try {
      this.#span?.end(Math.max(at, this.#options.startTime))
    } catch (thrown) {
      this.#tracing?.guard.failed(thrown)
    }
  }

  /** Ends the span without a reported outcome. */
  abandon(at: number): void {
    if (this.#isEnded) return
    this.set(ownAttributes.unfinished[0], true)
    this.end(at)
  }

  set(name: string, value: Api.AttributeValue): void {
    if (!this.#isRecording) return
    try {
      this.#span?.setAttribute(name, value)
    } catch (thrown) {
      this.#tracing?.guard.failed(thrown)
    }
  }

  event(name: string, attributes: Api.Attributes, at: number): void {
    if (!this.#isRecording) return
    try {
      this.#span?.addEvent(name, attributes, at)
    } catch (thrown) {
      this.#tracing?.guard.failed(thrown)
    }
  }

  fail(message?: string): void {
    const tracing = this.#tracing
    if (!this.#isRecording || tracing === undefined) return
    const { ERROR } = tracing.api.SpanStatusCode
    tracing.guard.try(() => this.#span?.setStatus({ code: ERROR, ...(message !== undefined && { message }) }))
  }

  /** Created on demand: most spans have no children. */
  #inside(tracing: Tracing): Api.Context {
    if (this.#span === undefined) return this.#around(tracing)
    return (this.#context ??= tracing.api.trace.setSpan(this.#around(tracing), this.#span))
  }

  #around(tracing: Tracing): Api.Context {
    return this.#parent === undefined ? (this.#outer ?? tracing.api.ROOT_CONTEXT) : this.#parent.#inside(tracing)
  }
}
