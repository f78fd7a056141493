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

/** One time round the loop, with the reply that it had. */
interface Window {
  readonly startMs: number
  readonly spent: Spent
  /** What was said in it was heard: its point has its context. */
  isTold: boolean
  point: (Writable<TurnPoint> & { readonly messageId: string | undefined }) | undefined
}

/**
 * What stood at each request of the main loop that had a reply; `kinds` knows what was said before the run, and hears of what is said in it. Sums of a
 * point go to the end of its lap, so that the last one has those of the run; of several attempts the last one that was answered is told.
 * `activeMs`: how long the run took.
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
  readonly #windows: Window[] = []
  readonly #steps: RecordedStep[] = []
  readonly #reserved = new Map<string, number>()
  readonly #beganAt: number
  #maxTurns: number | null
  readonly #maxGoalTries: number
  #settledNanos = 0
  #tokens = 0
  /** What a compaction of the open turn left: no entry tells of it yet. */
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
        // What the run goes on from is in its sums.
        this.#settledNanos = spent.nanos + spent.unknownNanos
        this.#tokens = spent.totalTokens
        for (const entry of added) this.#kinds.add(entry)
        this.#windows.push({ startMs: 0, spent, isTold: false, point: undefined })
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
        // `Infinity` takes a limit away, and is null in a file.
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
        this.#said(added)
        this.#windows.push({ startMs: Math.max(0, spent.now - this.#beganAt), spent, isTold: false, point: undefined })
        return
      }
      case 'end':
        if (record.scope === '') this.#said(record.added)
        return
      case 'rewind':
      case 'stage':
    }
  }

  end(activeMs: number, calls: ReadonlyMap<number, readonly TurnCall[]>): readonly TurnPoint[] {
    if (this.#windows.at(-1)?.isTold === false) {
      if (this.#compacted !== undefined) this.#kinds.compactTo(this.#compacted)
      this.#said([])
    }
    const told = this.#windows.filter(({ point }) => point !== undefined)
    const last = told.at(-1)?.point
    if (last !== undefined) this.#addSums(last)
    const starts = told.map(({ startMs }, index) => (index === 0 ? 0 : startMs))
    const times = timesBetween(starts, this.#steps, { beganAt: this.#beganAt, activeMs })
    const used = this.#windows.at(-1)?.spent.laps.inRun ?? {}
    return told.flatMap(({ point }, index): readonly TurnPoint[] => {
      const ms = times[index]
      if (point === undefined || ms === undefined) return []
      const { messageId: _, ...plain } = point
      const left = Object.entries(point.allowancesLeft).filter(([transition]) => Object.hasOwn(used, transition))
      return [{ ...plain, ms, allowancesLeft: Object.fromEntries(left), calls: calls.get(point.request) ?? [] }]
    })
  }

  /** The lap tells what was said in it: up to the reply it is what the model was shown. */
  #said(added: readonly TranscriptEntry[]): void {
    const window = this.#windows.at(-1)
    const point = window?.point
    let isShown = point === undefined
    if (window !== undefined) window.isTold = true
    const show = (): void => {
      if (point === undefined || isShown) return
      const { input, cacheRead, cacheWrite } = point.usage
      point.isCompacted = this.#kinds.takeCompacted()
      point.context = this.#kinds.now(input + cacheRead + cacheWrite)
      isShown = true
    }
    const isTold = added.some((entry) => isReplyOf(point?.messageId, entry))
    // A reply that was not kept was to what stood before.
    if (!isTold) show()
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
      // What a driver recorded for a compaction is what it came to.
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
    { spent }: Window,
    step: RecordedStep,
    message: { readonly [field: string]: unknown },
    { key, model }: { readonly key: string; readonly model: unknown },
  ): Window['point'] {
    const told = isJsonObject(message['usage']) ? message['usage'] : {}
    const goalTries = spent.goal === undefined ? 0 : this.#maxGoalTries
    const limits = { maxTurns: this.#maxTurns ?? Infinity, goalTries, tokenTargetLaps: 0 }
    // Turns are told by themselves, and how far a token target goes is not on record.
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
        input: numberOf(told['input_tokens']),
        cacheRead: numberOf(told['cache_read_input_tokens']),
        cacheWrite: numberOf(told['cache_creation_input_tokens']),
        output: numberOf(told['output_tokens']),
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
  /** When it began, on the clock of the steps. */
  readonly beganAt: number
  readonly activeMs: number
}

/**
 * Where the time went from each of these moments of a run to the next, and from the last one to its end. A step that goes on for longer counts in each part with
 * what lies in it, so that the parts add up to the run.
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
    const whole = Math.max(start, starts[index + 1] ?? activeMs) - start
    return { ...times, other: times.other + Math.max(0, whole - counted) }
  })
}

/** The place of the last start that is not after this moment; the first one for a moment before all. */
function lastAtOrBefore(starts: readonly number[], moment: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? Infinity) <= moment) low = middle
    else high = middle - 1
  }
  return low
}

/** What the replies of the main loop called, by request. Of several attempts at a request the last one has its calls. */
function callsByRequest({ requests }: RecordedSteps): ReadonlyMap<number, readonly TurnCall[]> {
  const calls = new Map<number, readonly TurnCall[]>()
  for (const { scope, phase, name, request, calls: asked } of requests) {
    // The last answer has a count of its own, and calls nothing.
    if (scope === '' && phase === 'model' && !name.startsWith('wrap_up')) calls.set(request, asked.map(turnCallOf))
  }
  return calls
}

function turnCallOf({ name, input, status }: RecordedCall): TurnCall {
  const inputDigest = digestOf(JSON.stringify(input) ?? '')
  return { tool: name, label: callLabel(name, input), inputDigest, status }
}
