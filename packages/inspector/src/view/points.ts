import { isJsonObject } from '@halting/core/adapters'
import {
  allowancesLeft,
  limitsInForce,
  recordedStep,
  timeByPhase,
  type RecordedStep,
  type StepRecord,
} from '@halting/core/steps'
import type { ContextKinds } from './context-kinds.ts'
import type { TurnPoint } from './types.ts'

type Point = { -readonly [field in keyof TurnPoint]: TurnPoint[field] }

/**
 * What stood when each request of the main loop had its reply; `kinds` knows what was said before the run, and hears of what is said in it.
 * Of several attempts at one request the last that was billed is told.
 */
export function pointsOf(records: readonly StepRecord[], kinds: ContextKinds): readonly TurnPoint[] {
  const reader = new PointReader(records, kinds)
  for (const record of records) reader.read(record)
  return reader.end()
}

class PointReader {
  readonly #kinds: ContextKinds
  readonly #points: Point[] = []
  readonly #reserved = new Map<string, number>()
  readonly #beganAt: number
  readonly #limits: { readonly maxTurns: number; readonly tokenTargetLaps: number }
  /** Steps of each request of the main loop, subagents' too. */
  readonly #steps = new Map<number, RecordedStep[]>()
  #spent: Extract<StepRecord, { readonly type: 'start' }>['start']['spent'] | undefined
  #settledNanos = 0
  #tokens = 0

  constructor(records: readonly StepRecord[], kinds: ContextKinds) {
    this.#kinds = kinds
    const [first] = records
    this.#beganAt = first?.type === 'start' ? first.at : 0
    this.#limits = { maxTurns: limitsInForce(records).maxTurns ?? Infinity, tokenTargetLaps: 0 }
  }

  read(record: StepRecord): void {
    switch (record.type) {
      case 'start':
        if (record.scope !== '') return
        this.#spent = record.start.spent
        for (const entry of record.start.added) this.#kinds.add(entry)
        return
      case 'intent': {
        const { intent } = record
        if (isJsonObject(intent) && intent['granted'] === true && typeof intent['nanos'] === 'number')
          this.#reserved.set(record.key, intent['nanos'])
        return
      }
      case 'result':
        this.#result(record)
        return
      case 'lap':
        if (record.lap.scope !== '') return
        this.#spent = record.lap.spent
        for (const entry of record.lap.added) this.#kinds.add(entry)
        return
      case 'end':
        if (record.scope === '') for (const entry of record.added) this.#kinds.add(entry)
        return
      case 'control':
      case 'rewind':
      case 'stage':
    }
  }

  end(): readonly TurnPoint[] {
    return this.#points.map((point) => {
      const ms = timeByPhase(this.#steps.get(point.request) ?? [])
      return { ...point, ms }
    })
  }

  #result({ key, value, at, durationMs }: Extract<StepRecord, { readonly type: 'result' }>): void {
    const step = recordedStep(key, at, durationMs, false)
    const request = step.scope === '' ? step.request : Number(/^agent:(\d+):/.exec(step.scope)?.[1] ?? 0)
    const steps = this.#steps.get(request)
    if (steps === undefined) this.#steps.set(request, [step])
    else steps.push(step)
    const fields = isJsonObject(value) ? value : {}
    if (isJsonObject(fields['charge'])) {
      this.#settledNanos += numberOf(fields['charge']['nanos'])
      this.#tokens += numberOf(fields['charge']['tokens'])
    }
    if (step.scope === '' && step.phase === 'model' && isJsonObject(fields['charge']))
      return this.#point(step, key, fields['message'], fields['charge'])
    // What subagents and compactions cost counts to the turn that they belong to.
    const last = this.#points.at(-1)
    if (last === undefined) return
    last.settledUsd = this.#settledNanos / 1e9
    last.tokens = this.#tokens
  }

  #point(step: RecordedStep, key: string, message: unknown, charge: { readonly [field: string]: unknown }): void {
    const told = isJsonObject(message) && isJsonObject(message['usage']) ? message['usage'] : {}
    const usage = {
      input: numberOf(told['input_tokens']),
      cacheRead: numberOf(told['cache_read_input_tokens']),
      cacheWrite: numberOf(told['cache_creation_input_tokens']),
      output: numberOf(told['output_tokens']),
    }
    const { request } = step
    const spent = this.#spent
    const { next_turn: turnsLeft = null, ...others } =
      spent === undefined ? {} : allowancesLeft(spent.laps, this.#limits)
    const reserved = this.#reserved.get(key)
    const before = this.#points.at(-1)
    const again = before?.request === request ? before : undefined
    const isCompacted = this.#kinds.takeCompacted() || again?.isCompacted === true
    if (again !== undefined) this.#points.pop()
    this.#points.push({
      request,
      turn: (spent?.turns ?? 0) + (spent?.turnBegins === false ? 0 : 1),
      atMs: Math.max(0, step.at + step.durationMs - this.#beganAt),
      model: typeof charge['model'] === 'string' ? charge['model'] : '',
      context: this.#kinds.now(usage.input + usage.cacheRead + usage.cacheWrite),
      usage,
      settledUsd: this.#settledNanos / 1e9,
      reservedUsd: reserved === undefined ? null : reserved / 1e9,
      tokens: this.#tokens,
      ms: { model: 0, tools: 0, hooks: 0, compaction: 0, waiting: 0, other: 0 },
      isCompacted,
      turnsLeft,
      allowancesLeft: others,
    })
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
