import { decoded, isOfSpans, type Received } from './otlp.ts'

// What a collector received, in forms that tests compare: spans as trees, metrics as lists.

/** A value with its type: 64-bit integers are bigints, the rest is JSON. */
export type Value = string | bigint | number | boolean | readonly Value[]
export type Values = Readonly<Record<string, Value>>

export interface SpanNode {
  readonly name: string
  /** OTLP numbers: 1 internal, 3 client. */
  readonly kind: number
  /** 0 unset, 2 error. */
  readonly status: number
  readonly attributes: Values
  readonly events: readonly { readonly name: string; readonly attributes: Values }[]
  readonly children: readonly SpanNode[]
}

export interface SentSpan extends Omit<SpanNode, 'children'> {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly start: bigint
  readonly end: bigint
  readonly flags: number
  readonly traceState: string
}

export interface Sent {
  readonly resource: Values
  readonly scope: { readonly name: string; readonly version: string }
}

// The shapes of requests, as far as they are read here. `decoded` has checked them against the definitions.
interface AnyValue {
  readonly stringValue?: string
  readonly intValue?: string
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values: readonly AnyValue[] }
}
interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}
interface Owned {
  readonly resource: { readonly attributes: readonly KeyValue[] }
}
interface Scoped {
  readonly scope: { readonly name: string; readonly version: string }
}
interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly flags: number
  readonly traceState: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly KeyValue[]
  readonly events: readonly {
    readonly name: string
    readonly timeUnixNano: string
    readonly attributes: readonly KeyValue[]
  }[]
  readonly status: { readonly code: number }
}
interface WirePoint {
  readonly attributes: readonly KeyValue[]
  readonly asInt?: string
  readonly asDouble?: number
  readonly count?: string
  readonly sum?: number
  readonly bucketCounts?: readonly string[]
  readonly explicitBounds?: readonly number[]
}
interface WireMetric {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly sum?: {
    readonly isMonotonic: boolean
    readonly aggregationTemporality: number
    readonly dataPoints: readonly WirePoint[]
  }
  readonly histogram?: { readonly aggregationTemporality: number; readonly dataPoints: readonly WirePoint[] }
}
interface TraceRequest {
  readonly resourceSpans: readonly (Owned & {
    readonly scopeSpans: readonly (Scoped & { readonly spans: readonly WireSpan[] })[]
  })[]
}
interface MetricsRequest {
  readonly resourceMetrics: readonly (Owned & {
    readonly scopeMetrics: readonly (Scoped & { readonly metrics: readonly WireMetric[] })[]
  })[]
}

function valueOf({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): Value {
  if (intValue !== undefined) return BigInt(intValue)
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(valueOf) ?? ''
}

function valuesOf(attributes: readonly KeyValue[]): Values {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))
}

/** All spans, in the order in which they started. */
export function spansOf(received: readonly Received[]): readonly (SentSpan & Sent)[] {
  return received
    .filter(isOfSpans)
    .flatMap((each) => (decoded(each) as unknown as TraceRequest).resourceSpans)
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ scope: { name, version }, spans }) =>
        spans.map((span) => ({
          ...sentSpan(span),
          resource: valuesOf(resource.attributes),
          scope: { name, version },
        })),
      ),
    )
    .toSorted((a, b) => Number(a.start - b.start))
}

function sentSpan(span: WireSpan): SentSpan {
  const { traceId, spanId, parentSpanId, name, kind, flags, traceState, attributes, events, status } = span
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    flags,
    traceState,
    status: status.code,
    attributes: valuesOf(attributes),
    events: events.map((event) => ({ name: event.name, attributes: valuesOf(event.attributes) })),
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
  }
}

/** Spans below a parent; '' has the root spans. */
export function treesOf(spans: readonly SentSpan[], parent = ''): readonly SpanNode[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map(({ name, kind, status, attributes, events, spanId }) => ({
      name,
      kind,
      status,
      attributes,
      events,
      children: treesOf(spans, spanId),
    }))
}

export interface Point {
  readonly attributes: Values
  /** For a counter. */
  readonly value?: bigint | number
  /** For a histogram. */
  readonly count?: bigint
  readonly sum?: number
  readonly buckets?: readonly bigint[]
  readonly bounds?: readonly number[]
}

export interface SentMetric {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly kind: 'counter' | 'histogram' | 'other'
  /** 1 delta, 2 cumulative. */
  readonly temporality: number
  readonly points: readonly Point[]
}

/** The metrics of each request. */
export function metricsOf(
  received: readonly Received[],
): readonly (Sent & { readonly metrics: readonly SentMetric[] })[] {
  return received
    .filter((each) => !isOfSpans(each))
    .flatMap((each) => (decoded(each) as unknown as MetricsRequest).resourceMetrics)
    .flatMap(({ resource, scopeMetrics }) =>
      scopeMetrics.map(({ scope: { name, version }, metrics }) => ({
        resource: valuesOf(resource.attributes),
        scope: { name, version },
        metrics: metrics.map(sentMetric),
      })),
    )
}

function sentMetric({ name, unit, description, sum, histogram }: WireMetric): SentMetric {
  const about = { name, unit, description }
  if (sum?.isMonotonic === true)
    return { ...about, kind: 'counter', temporality: sum.aggregationTemporality, points: sum.dataPoints.map(countOf) }
  if (histogram === undefined) return { ...about, kind: 'other', temporality: 0, points: [] }
  const { aggregationTemporality: temporality, dataPoints } = histogram
  return { ...about, kind: 'histogram', temporality, points: dataPoints.map(bucketsOf) }
}

function countOf({ attributes, asInt, asDouble = 0 }: WirePoint): Point {
  return { attributes: valuesOf(attributes), value: asInt === undefined ? asDouble : BigInt(asInt) }
}

function bucketsOf({ attributes, count = '0', sum = 0, bucketCounts = [], explicitBounds = [] }: WirePoint): Point {
  return {
    attributes: valuesOf(attributes),
    count: BigInt(count),
    sum,
    buckets: bucketCounts.map(BigInt),
    bounds: explicitBounds,
  }
}

/** Names of spans that start before their parent, or end after it. */
export function outOfPlace(spans: readonly SentSpan[]): readonly string[] {
  return spans.flatMap((span) => {
    const around = spans.find(({ spanId }) => spanId === span.parentSpanId)
    if (around === undefined) return span.parentSpanId === '' ? [] : [span.name]
    return span.start >= around.start && span.end <= around.end && span.end >= span.start ? [] : [span.name]
  })
}
