import type * as Api from '@opentelemetry/api'
import type { Attributes } from '@opentelemetry/api'
import type { ToolStatus, Usage } from '@halting/core'
import { exportedName } from './content.ts'
import type { FailureGuard } from './guard.ts'
import {
  conventionAttributes as genAi,
  failedStatuses,
  longBuckets,
  metricNames,
  ownAttributes as own,
  ratioBuckets,
  secondBuckets,
  tokenBuckets,
  tryBuckets,
} from './names.ts'

/** Returns all input tokens, including cache reads and writes. */
export function inputTokensOf(usage: Usage): number {
  return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
}

type Histogram = Pick<Api.Histogram, 'record'>
type Counter = Pick<Api.Counter, 'add'>

/** The instruments, each created once. An error of one of them has no other effect. */
export class Instruments {
  readonly #tokens: Histogram
  readonly #operations: Histogram
  readonly #cost: Counter
  readonly #tools: Histogram
  readonly #models = new Map<string, ModelAttributes>()
  readonly #calls = new Map<string, CallAttributes>()
  readonly runs: Histogram
  readonly turns: Histogram
  readonly iterations: Counter
  readonly endings: Counter
  readonly retries: Counter
  readonly compactions: Counter
  readonly limits: Histogram
  readonly budgetWaits: Histogram
  readonly serviceWaits: Histogram
  readonly limitPauses: Histogram
  readonly goalRounds: Counter
  readonly goalDuration: Histogram
  readonly goalTries: Histogram

  constructor(meter: Api.Meter, { INT, DOUBLE }: typeof Api.ValueType, guard: FailureGuard) {
    /** Report counters as integers. */
    const optionsOf = (metric: keyof typeof metricNames) => {
      const [, , unit, description] = metricNames[metric]
      return { unit, description, valueType: unit.startsWith('{') ? INT : DOUBLE }
    }
    const histogram = (metric: keyof typeof metricNames, buckets: readonly number[]): Histogram => {
      const advice = { explicitBucketBoundaries: [...buckets] }
      const instrument = meter.createHistogram(metricNames[metric][0], { ...optionsOf(metric), advice })
      return {
        record(value, attributes) {
          try {
            instrument.record(finiteAmount(value), attributes)
          } catch (thrown) {
            guard.failed(thrown)
          }
        },
      }
    }
    const counter = (metric: keyof typeof metricNames): Counter => {
      const instrument = meter.createCounter(metricNames[metric][0], optionsOf(metric))
      return {
        add(value, attributes) {
          try {
            instrument.add(finiteAmount(value), attributes)
          } catch (thrown) {
            guard.failed(thrown)
          }
        },
      }
    }
    this.#tokens = histogram('tokenUsage', tokenBuckets)
    this.#operations = histogram('operationDuration', secondBuckets)
    this.#cost = counter('cost')
    this.runs = histogram('runDuration', longBuckets)
    this.turns = histogram('turnDuration', longBuckets)
    this.#tools = histogram('toolDuration', secondBuckets)
    this.iterations = counter('laps')
    this.endings = counter('endings')
    this.retries = counter('retries')
    this.compactions = counter('compactions')
    this.limits = histogram('limitUsed', ratioBuckets)
    this.budgetWaits = histogram('budgetWait', longBuckets)
    this.serviceWaits = histogram('serviceWait', longBuckets)
    this.limitPauses = histogram('limitPause', longBuckets)
    this.goalRounds = counter('goalRounds')
    this.goalDuration = histogram('goalDuration', longBuckets)
    this.goalTries = histogram('goalTries', tryBuckets)
  }

  /** Records the cost of an attempt. */
  usage(model: string, provider: string, usage: Usage | null, costUsd: number): void {
    const about = this.#model(model, provider)
    if (usage !== null) {
      this.#tokens.record(inputTokensOf(usage), about.input)
      this.#tokens.record(usage.output_tokens, about.output)
    }
    // Without reported usage, the worst case is charged.
    if (costUsd > 0) this.#cost.add(costUsd, usage === null ? about.unknown : about.settled)
  }

  /** Records the duration of an attempt, and its kind of error. */
  attempt(model: string, provider: string, seconds: number, error: string | undefined): void {
    const { attempt } = this.#model(model, provider)
    this.#operations.record(seconds, error === undefined ? attempt : { ...attempt, [genAi.errorType]: error })
  }

  tool(name: string, status: ToolStatus, seconds: number): void {
    const { tool, operation } = this.#call(name, status)
    this.#tools.record(seconds, tool)
    this.#operations.record(seconds, operation)
  }

  run(provider: string, agent: string, seconds: number, error: string | undefined): void {
    this.#operations.record(seconds, {
      [genAi.operation]: 'invoke_agent',
      [genAi.provider]: provider,
      [genAi.agentName]: agent,
      ...(error !== undefined && { [genAi.errorType]: error }),
    })
  }

  #model(model: string, provider: string): ModelAttributes {
    return cached(this.#models, model, () => {
      const attempt = { [genAi.operation]: 'chat', [genAi.provider]: provider, [genAi.requestModel]: model }
      return {
        attempt,
        input: { ...attempt, [genAi.tokenType]: 'input' },
        output: { ...attempt, [genAi.tokenType]: 'output' },
        settled: { ...attempt, [own.costKind[0]]: 'settled' },
        unknown: { ...attempt, [own.costKind[0]]: 'unknown' },
      }
    })
  }

  #call(name: string, status: ToolStatus): CallAttributes {
    return cached(this.#calls, `${status} ${name}`, () => ({
      tool: { [genAi.toolName]: exportedName(name), [own.toolStatus[0]]: status },
      operation: {
        [genAi.operation]: 'execute_tool',
        [genAi.provider]: 'halting',
        [genAi.toolName]: exportedName(name),
        ...(failedStatuses.has(status) && { [genAi.errorType]: status }),
      },
    }))
  }
}

/** Attributes of frequent measurements, created once. */
interface ModelAttributes {
  readonly attempt: Attributes
  readonly input: Attributes
  readonly output: Attributes
  readonly settled: Attributes
  readonly unknown: Attributes
}

interface CallAttributes {
  readonly tool: Attributes
  readonly operation: Attributes
}

/** A model may call tools by any name. */
const maxCached = 500

function cached<Value>(all: Map<string, Value>, key: string, make: () => Value): Value {
  const known = all.get(key)
  if (known !== undefined) return known
  if (all.size >= maxCached) all.clear()
  const value = make()
  all.set(key, value)
  return value
}

/** Replaces invalid values: clocks may go backwards, and one NaN would spoil every later sum. */
function finiteAmount(value: number): number {
  return value > 0 && Number.isFinite(value) ? value : 0
}
