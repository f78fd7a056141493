import type * as Api from '@opentelemetry/api'

/** What spans are made with. */
export interface Tracing {
  readonly api: typeof Api
  readonly tracer: Api.Tracer
  readonly now: () => number
}

interface NodeInit {
  readonly name: string
  readonly kind: Api.SpanKind
  readonly attributes: Api.Attributes
}

/**
 * A step of a run, and its span once it is known that this process does it: what a resumed run has from its record was told by the process
 * that did it. Whoever begins it begins what it lies in.
 */
export class TraceNode {
  readonly startedAt: number
  readonly #tracing: Tracing | undefined
  readonly #parent: TraceNode | undefined
  readonly #outer: Api.Context | undefined
  readonly #init: NodeInit
  #span: Api.Span | undefined
  #context: Api.Context | undefined
  #isBegun = false
  #isEnded = false

  constructor(
    tracing: Tracing | undefined,
    parent: TraceNode | { readonly context: Api.Context } | undefined,
    init: NodeInit,
    startedAt: number,
  ) {
    this.#tracing = tracing
    this.#parent = parent instanceof TraceNode ? parent : undefined
    this.#outer = parent instanceof TraceNode ? undefined : parent?.context
    this.#init = init
    this.startedAt = startedAt
  }

  /** This process does it. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Null without a provider of spans. */
  get span(): Api.Span | null {
    return this.#span ?? null
  }

  begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    this.#parent?.begin()
    if (this.#tracing === undefined) return
    const { tracer, api } = this.#tracing
    const { name, kind, attributes } = this.#init
    const context = this.#parent?.context ?? this.#outer ?? api.ROOT_CONTEXT
    const span = tracer.startSpan(name, { kind, attributes, startTime: this.startedAt }, context)
    this.#span = span
    this.#context = api.trace.setSpan(context, span)
  }

  get context(): Api.Context | undefined {
    return this.#context
  }

  /** Once: what is told of it later is too late. */
  end(at: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#span?.end(Math.max(at, this.startedAt))
  }

  set(attributes: Api.Attributes): void {
    this.#span?.setAttributes(attributes)
  }

  event(name: string, attributes: Api.Attributes, at: number): void {
    this.#span?.addEvent(name, attributes, at)
  }

  fail(message?: string): void {
    if (this.#tracing === undefined) return
    const { ERROR } = this.#tracing.api.SpanStatusCode
    this.#span?.setStatus({ code: ERROR, ...(message !== undefined && { message }) })
  }
}
