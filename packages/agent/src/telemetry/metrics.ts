import type { Attributes, Counter as ApiCounter, Histogram as ApiHistogram, MeterProvider } from '@opentelemetry/api'
import type { Usage } from '@halting/core'
import type { Guard } from './guard.ts'
import {
  conventionAttributes as told,
  longBuckets,
  metricNames,
  ownAttributes as own,
  ratioBuckets,
  secondBuckets,
  tokenBuckets,
} from './names.ts'

/** All that a request read: what came from a cache and what went into one, too. */
export function inputTokensOf(usage: Usage): number {
  return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
}

type Histogram = Pick<ApiHistogram, 'record'>
type Counter = Pick<ApiCounter, 'add'>

/** The instruments. Each is made once, and what one of them throws ends nothing. */
export class Instruments {
  readonly #tokens: Histogram
  readonly #operations: Histogram
  readonly #cost: Counter
  readonly runs: Histogram
  readonly turns: Histogram
  readonly tools: Histogram
  readonly laps: Counter
  readonly endings: Counter
  readonly retries: Counter
  readonly compactions: Counter
  readonly limits: Histogram

  constructor(provider: MeterProvider, guard: Guard) {
    const meter = provider.getMeter('halting')
    const histogram = (metric: keyof typeof metricNames, buckets: readonly number[]): Histogram => {
      const [name, , unit, description] = metricNames[metric]
      const advice = { explicitBucketBoundaries: [...buckets] }
      const made = meter.createHistogram(name, { unit, description, advice })
      return { record: (value, attributes) => guard(() => made.record(value, attributes)) }
    }
    const counter = (metric: keyof typeof metricNames): Counter => {
      const [name, , unit, description] = metricNames[metric]
      const made = meter.createCounter(name, { unit, description })
      return { add: (value, attributes) => guard(() => made.add(value, attributes)) }
    }
    this.#tokens = histogram('tokenUsage', tokenBuckets)
    this.#operations = histogram('operationDuration', secondBuckets)
    this.#cost = counter('cost')
    this.runs = histogram('runDuration', longBuckets)
    this.turns = histogram('turnDuration', longBuckets)
    this.tools = histogram('toolDuration', secondBuckets)
    this.laps = counter('laps')
    this.endings = counter('endings')
    this.retries = counter('retries')
    this.compactions = counter('compactions')
    this.limits = histogram('limitUsed', ratioBuckets)
  }

  /** One attempt at a model. `about`: operation, provider and model. */
  attempt(about: Attributes, usage: Usage | null, costUsd: number): void {
    if (usage !== null) {
      this.#tokens.record(inputTokensOf(usage), { ...about, [told.tokenType]: 'input' })
      this.#tokens.record(usage.output_tokens, { ...about, [told.tokenType]: 'output' })
    }
    // Nobody told its usage: what it is charged at is the worst case.
    if (costUsd > 0) this.#cost.add(costUsd, { ...about, [own.costKind[0]]: usage === null ? 'unknown' : 'settled' })
  }

  operation(seconds: number, about: Attributes): void {
    this.#operations.record(seconds, about)
  }
}
