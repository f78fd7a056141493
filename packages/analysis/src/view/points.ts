import { isJsonObject, digestOf } from '@halting/core/adapters'
import type { ModelMessage, TranscriptEntry } from '@halting/core'
import { retriesLeft, type StepRecord } from '@halting/core/steps'
import { recordedStep, type RecordedStep, type RecordedSteps, type RecordedCall } from '../account/recorded-steps.ts'
import { limitsInForce } from '../account/limits.ts'
import type { ContextKinds } from './context-kinds.ts'
import { turnOf, type Spent } from './turn-of.ts'
import type { TurnCall, TurnPoint } from './types.ts'
import { timeByPhase } from '../account/time-by-phase.ts'
import { callLabel } from './call-label.ts'

type Writable<T> = { -readonly [field in keyof T]: T[field] }

/** One iteration of the loop, with its reply. */
interface Iteration {
  readonly startMs: number
  readonly spent: Spent
  /** Whether its entries were read, so that its point has a context. */
  isRead: boolean
  point: (Writable<TurnPoint> & { readonly messageId: string | undefined }) | undefined
}

/**
 * The state at each request of the main loop that had a reply. `kinds` must contain the conversation before the run, and receives that of the run.
 * Sums of a point are those at the end of its iteration, so that the last point has those of the run. Of several attempts, the last one with a reply
 * counts.
 * `activeMs`: active time of the run.
 */
export function pointsOf(
  records: readonly StepRecord[],
  kinds: ContextKinds,
  activeMs: number,
  recorded: RecordedSteps,
): readonly TurnPoint[] {
  const reader = new PointReader(records, kinds)
  for (const record of records) reader.read(record)
  return reader.end(activeMs, callsByRequest(recorded))
}

class PointReader {
  readonly #kinds: ContextKinds
  readonly #windows: Iteration[] = []
  readonly #steps: RecordedStep[] = []
  readonly #reserved = new Map<string, number>()
  readonly #beganAt: number
  #maxTurns: number | null
  readonly #maxGoalTries: number
  #settledNanos = 0
  #tokens = 0
  /** Result of a compaction in the open turn, which is not part of any entry yet. */
  #compacted: readonly ModelMessage[] | undefined

  constructor(records: readonly StepRecord[], kinds: ContextKinds) {
    this.#kinds = kinds
    const [first] = records
    this.#beganAt = first?.type === 'start' ? first.at : 0
    this.#maxTurns = limitsInForce(records.slice(0, 1)).maxTurns
    this.#maxGoalTries = limitsInForce(records).maxGoalTries ?? 0
  }

  read(record: StepRecord): void {
    switch (record.type) {
      case 'start': {
        if (record.scope !== '') return
        const { spent, added } = record.start
        // The sums include what the run carried over.
        this.#settledNanos = spent.nanos + spent.unknownNanos
        this.#tokens = spent.totalTokens
        for (const entry of added) this.#kinds.add(entry)
        this.#windows.push({ startMs: 0, spent, isRead: false, point: undefined })
        return
      }
      case 'intent': {
        const { intent } = record
        if (isJsonObject(intent) && intent['granted'] === true && typeof intent['nanos'] === 'number')
          this.#reserved.set(record.key, intent['nanos'])
        return
      }
      case 'result':
        this.#result(record)
        return
      case 'control': {
        const maxTurns = record.key.includes('/agent:') ? undefined : record.control.settings?.limits?.maxTurns
        // `Infinity` removes a limit, and files store it as null.
        if (maxTurns !== undefined) this.#maxTurns = maxTurns === Infinity ? null : maxTurns
        return
      }
      case 'lap': {
        const { scope, spent, added } = record.lap
        if (scope !== '') return
        if (record.folds !== undefined) {
          this.#settledNanos = record.folds.settled.nanos
          this.#tokens = record.folds.settled.tokens
        }
        this.#readEntries(added)
        this.#windows.push({ startMs: Math.max(0, spent.now - this.#beganAt), spent, isRead: false, point: undefined })
        return
      }
      case 'end':
        if (record.scope === '') this.#readEntries(record.added)
        return
      case 'rewind':
      case 'stage':
    }
  }

  end(activeMs: number, calls: ReadonlyMap<number, readonly TurnCall[]>): readonly TurnPoint[] {
    if (this.#windows.at(-1)?.isRead === false) {
      if (this.#compacted !== undefined) this.#kinds.compactTo(this.#compacted)
      this.#readEntries([])
    }
    const withReply = this.#windows.filter(({ point }) => point !== undefined)
    const last = withReply.at(-1)?.point
    if (last !== undefined) this.#addSums(last)
    const starts = withReply.map(({ startMs }, index) => (index === 0 ? 0 : startMs))
    const times = timesBetween(starts, this.#steps, { beganAt: this.#beganAt, activeMs })
    const used = this.#windows.at(-1)?.spent.laps.inRun ?? {}
    return withReply.flatMap(({ point }, index): readonly TurnPoint[] => {
      const ms = times[index]
      if (point === undefined || ms === undefined) return []
      const { messageId: _, ...plain } = point
      const left = Object.entries(point.allowancesLeft).filter(([transition]) => Object.hasOwn(used, transition))
      return [{ ...plain, ms, allowancesLeft: Object.fromEntries(left), calls: calls.get(point.request) ?? [] }]
    })
  }

  /** Reads the entries of an iteration. The entries up to the reply are what the model was sent. */
  #readEntries(added: readonly TranscriptEntry[]): void {
    const window = this.#windows.at(-1)
    const point = window?.point
    let isShown = point === undefined
    if (window !== undefined) window.isRead = true
    const show = (): void => {
      if (point === undefined || isShown) return
      const { input, cacheRead, cacheWrite } = point.usage
      point.isCompacted = this.#kinds.takeCompactedFlag()
      point.context = this.#kinds.now(input + cacheRead + cacheWrite)
      isShown = true
    }
    const hasReply = added.some((entry) => isReplyOf(point?.messageId, entry))
    // A reply that was discarded answered the conversation as it was before these entries.
    if (!hasReply) show()
    for (const entry of added) {
      if (isReplyOf(point?.messageId, entry)) show()
      this.#kinds.add(entry)
    }
    this.#compacted = undefined
  }

  #result({ key, value, at, durationMs }: Extract<StepRecord, { readonly type: 'result' }>): void {
    const step = recordedStep(key, at, durationMs, false)
    this.#steps.push(step)
    if (!isJsonObject(value)) return
    const { charge, message, result } = value
    if (step.scope === '' && step.phase === 'compaction' && isJsonObject(result) && Array.isArray(result['messages']))
      // The step engine records the result of a compaction.
      this.#compacted = result['messages'] as readonly ModelMessage[]
    if (!isJsonObject(charge)) return
    this.#settledNanos += numberOf(charge['nanos'])
    this.#tokens += numberOf(charge['tokens'])
    const window = this.#windows.at(-1)
    if (window === undefined) return
    const isReply = isJsonObject(message)
    if (step.scope === '' && step.phase === 'model' && (isReply || window.point?.messageId === undefined))
      window.point = this.#pointOf(window, step, isReply ? message : {}, { key, model: charge['model'] })
    if (window.point !== undefined) this.#addSums(window.point)
  }

  #addSums(point: Writable<TurnPoint>): void {
    point.settledUsd = this.#settledNanos / 1e9
    point.tokens = this.#tokens
  }

  #pointOf(
    { spent }: Iteration,
    step: RecordedStep,
    message: { readonly [field: string]: unknown },
    { key, model }: { readonly key: string; readonly model: unknown },
  ): Iteration['point'] {
    const usage = isJsonObject(message['usage']) ? message['usage'] : {}
    const goalTries = spent.goal === undefined ? 0 : this.#maxGoalTries
    const limits = { maxTurns: this.#maxTurns ?? Infinity, goalTries, tokenTargetIterations: 0 }
    // Turns have their own field, and progress towards a token target is not recorded.
    const {
      next_turn: turnsLeft,
      user_input: _,
      token_budget_continuation: __,
      ...others
    } = retriesLeft(spent.laps, limits)
    const reserved = this.#reserved.get(key)
    const { id } = message
    return {
      messageId: typeof id === 'string' ? id : undefined,
      request: spent.request,
      turn: turnOf(spent),
      atMs: Math.max(0, step.at + step.durationMs - this.#beganAt),
      model: typeof model === 'string' ? model : '',
      context: this.#kinds.now(0),
      usage: {
        input: numberOf(usage['input_tokens']),
        cacheRead: numberOf(usage['cache_read_input_tokens']),
        cacheWrite: numberOf(usage['cache_creation_input_tokens']),
        output: numberOf(usage['output_tokens']),
      },
      settledUsd: 0,
      reservedUsd: reserved === undefined ? null : reserved / 1e9,
      tokens: 0,
      ms: { model: 0, tools: 0, hooks: 0, compaction: 0, checks: 0, waiting: 0, other: 0 },
      isCompacted: false,
      turnsLeft,
      allowancesLeft: others,
      calls: [],
    }
  }
}

function isReplyOf(messageId: string | undefined, entry: TranscriptEntry): boolean {
  return messageId !== undefined && entry.kind === 'assistant' && entry.message.id === messageId
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

interface Run {
  /** When it began, on the clock of its steps. */
  readonly beganAt: number
  readonly activeMs: number
}

/**
 * The time by phase from each of these moments to the next, and from the last one to the end of the run. A longer step is split between the parts, so
 * that they add up to the run.
 */
export function timesBetween(
  starts: readonly number[],
  steps: readonly RecordedStep[],
  { beganAt, activeMs }: Run,
): readonly TurnPoint['ms'][] {
  const pieces = starts.map((): RecordedStep[] => [])
  for (const step of steps) {
    const from = step.at - beganAt
    const to = from + step.durationMs
    for (let index = lastAtOrBefore(starts, from); index < starts.length; index++) {
      const start = Math.max(from, starts[index] ?? 0)
      const end = Math.min(to, starts[index + 1] ?? Infinity)
      if (end > start) pieces[index]?.push({ ...step, at: start, durationMs: end - start })
      if (to <= (starts[index + 1] ?? Infinity)) break
    }
  }
  return starts.map((start, index) => {
    const times = timeByPhase(pieces[index] ?? [])
    const counted = Object.values(times).reduce((sum, ms) => sum + ms, 0)
    const totalMs = Math.max(start, starts[index + 1] ?? activeMs) - start
    return { ...times, other: times.other + Math.max(0, totalMs - counted) }
  })
}

/** The index of the last start at or before this moment; 0 if all are later. */
function lastAtOrBefore(starts: readonly number[], moment: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? Infinity) <= moment) low = middle
    else high = middle - 1
  }
  return low
}

/** Calls of the main loop, by request. Of several attempts, the last one counts. */
function callsByRequest({ requests }: RecordedSteps): ReadonlyMap<number, readonly TurnCall[]> {
  const calls = new Map<number, readonly TurnCall[]>()
  for (const { scope, phase, name, request, calls: asked } of requests) {
    // The final answer counts its requests separately, and makes no calls.
    if (scope === '' && phase === 'model' && !name.startsWith('wrap_up')) calls.set(request, asked.map(turnCallOf))
  }
  return calls
}

function turnCallOf({ name, input, status }: RecordedCall): TurnCall {
  const inputDigest = digestOf(JSON.stringify(input) ?? '')
  return { tool: name, label: callLabel(name, input), inputDigest, status }
}
