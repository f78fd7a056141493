import type * as Api from '@opentelemetry/api'
import type { AttributeTexts } from './content.ts'
import type { Instruments } from './metrics.ts'
import type { Tracing } from './node.ts'

/** Dependencies of all spans and metrics of a listener. */
export interface TraceScope {
  readonly api: typeof Api
  /** Undefined without a tracer provider. */
  readonly tracing: Tracing | undefined
  /** Undefined without a meter provider, and with a no-op one. */
  readonly instruments: Instruments | undefined
  readonly texts: AttributeTexts
  readonly providerOf: (model: string) => string
  readonly now: () => number
}
