import type * as Api from '@opentelemetry/api'
import type { FailureGuard } from './guard.ts'
import { ownAttributes } from './names.ts'

/** What spans are made with. */
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
 * A step of a run, and its span once it is known that this process does it: what a resumed run has from its record was told by the process
 * that did it. Whoever begins it begins what it lies in.
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

  /** This process does it. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Somebody keeps what is set: what is only for that need not be made otherwise. */
  get isRecording(): boolean {
    return this.#isRecording
  }

  /** Where its span is; undefined where there is none, as with a provider that does nothing. */
  get spanContext(): Api.SpanContext | undefined {
    const [span, tracing] = [this.#span, this.#tracing]
    if (span === undefined || tracing === undefined) return undefined
    const place = tracing.guard.try(() => span.spanContext())
    return place !== undefined && tracing.api.isSpanContextValid(place) ? place : undefined
  }

  /** Seconds from its beginning until then. */
  secondsUntil(at: number): number {
    return (at - this.#options.startTime) / 1000
  }

  begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    this.#parent?.begin()
    const tracing = this.#tracing
    // What was over before anything live was seen of it was told elsewhere: what lies in it lies in what is around it.
    if (tracing === undefined || this.#isEnded) return
    try {
      const span = tracing.tracer.startSpan(this.#name, this.#options, this.#around(tracing))
      this.#span = span
      this.#isRecording = span.isRecording()
    } catch (thrown) {
      tracing.guard.failed(thrown)
    }
  }

  /** Once: what is told of it later is too late. */
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

  /** It ends, and nothing told how. */
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

  /** Made when something begins in it: most spans have nothing in them. */
  #inside(tracing: Tracing): Api.Context {
    if (this.#span === undefined) return this.#around(tracing)
    return (this.#context ??= tracing.api.trace.setSpan(this.#around(tracing), this.#span))
  }

  #around(tracing: Tracing): Api.Context {
    return this.#parent === undefined ? (this.#outer ?? tracing.api.ROOT_CONTEXT) : this.#parent.#inside(tracing)
  }
}
