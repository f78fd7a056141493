import type * as Api from '@opentelemetry/api'
import type { Guard } from './guard.ts'
import { ownAttributes } from './names.ts'

/** What spans are made with. */
export interface Tracing {
  readonly api: typeof Api
  readonly tracer: Api.Tracer
  readonly guard: Guard
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
    const { tracer, api, guard } = this.#tracing
    const { name, kind, attributes } = this.#init
    const context = this.#parent?.context ?? this.#outer ?? api.ROOT_CONTEXT
    // What was over before anything live was seen of it was told elsewhere: what lies in it lies in what is around it.
    const span = this.#isEnded
      ? undefined
      : guard(() => tracer.startSpan(name, { kind, attributes, startTime: this.startedAt }, context))
    this.#span = span
    this.#context = span === undefined ? context : api.trace.setSpan(context, span)
  }

  get context(): Api.Context | undefined {
    return this.#context
  }

  /** Once: what is told of it later is too late. */
  end(at: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#do((span) => span.end(Math.max(at, this.startedAt)))
  }

  /** It ends, and nothing told how. */
  abandon(at: number): void {
    if (this.#isEnded) return
    this.set({ [ownAttributes.unfinished[0]]: true })
    this.end(at)
  }

  set(attributes: Api.Attributes): void {
    this.#do((span) => void span.setAttributes(attributes))
  }

  event(name: string, attributes: Api.Attributes, at: number): void {
    this.#do((span) => void span.addEvent(name, attributes, at))
  }

  fail(message?: string): void {
    if (this.#tracing === undefined) return
    const { ERROR } = this.#tracing.api.SpanStatusCode
    this.#do((span) => void span.setStatus({ code: ERROR, ...(message !== undefined && { message }) }))
  }

  #do(work: (span: Api.Span) => void): void {
    const span = this.#span
    if (span !== undefined) this.#tracing?.guard(() => work(span))
  }
}
