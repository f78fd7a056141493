import type * as Api from '@opentelemetry/api'
import type { AttributeTexts } from './content.ts'
import type { Instruments } from './metrics.ts'
import type { Tracing } from './node.ts'

/** What all spans and metrics of a listener are made with. */
export interface TraceScope {
  readonly api: typeof Api
  /** Undefined without a provider of spans. */
  readonly tracing: Tracing | undefined
  /** Undefined without a provider of metrics, and with one that does nothing. */
  readonly instruments: Instruments | undefined
  readonly texts: AttributeTexts
  readonly providerOf: (model: string) => string
  readonly now: () => number
}
