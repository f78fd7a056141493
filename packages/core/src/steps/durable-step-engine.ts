import { HaltingError } from '../values/errors.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { isJsonObject, type Json } from '../values/json.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import { steadyClock, type Clock } from '../values/clock.ts'
import type { ExternalInput } from './external-input.ts'
import type { StepStore, StepRecord } from './step-record.ts'
import type {
  AbandonedStep,
  ExternalInputOptions,
  SideEffectScope,
  PolledExternalInput,
  StepKey,
  StepOptions,
  StepResult,
  StepEngine,
  WaitResult,
  WaitOptions,
} from './step-engine.ts'
import { systemClock } from '../values/system-clock.ts'
import { waitTimesFrom, waitTimesIn, WallWait, type WaitTimes } from './wall-wait.ts'

/** Options of a step engine. */
export interface StepEngineOptions {
  /** The time source. Default: the system's clock. */
  readonly clock?: Clock
  /** Where records are stored. */
  readonly log: StepStore
  /** Records of the open turn, from which steps are answered. */
  readonly replay?: readonly StepRecord[]
  /** Records of earlier turns that belong to running background agents. Steps are answered from these records, too. */
  readonly agents?: readonly StepRecord[]
  /** Rejects steps that are not recorded. Used for replay and what-if. */
  readonly recordedOnly?: boolean
  /** Prefix of idempotency keys. Default: `session`. */
  readonly sessionId?: string
  /** The last time in the existing records, on the session's active clock. */
  readonly recordedUntil?: number
}

/** A step engine that accepts answers of people. */
export interface AnswerableStepEngine extends StepEngine {
  /** Submits a person's answer to a `wait`. */
  answer(key: StepKey, value: Json): void
}

/**
 * The step engine: it records steps, answers from the record, and maintains the session's active clock. The log decides
 * whether records are in memory or in a file.
 * D1: a step's intent is in the log before its side effect, and durable if the step requires it.
 * D2: external input is durable before the loop acts on it.
 * D3: a failing log breaks the engine.
 */
export class DurableStepEngine implements AnswerableStepEngine {
  readonly #clock: Clock
  readonly #options: StepEngineOptions
  readonly #log: StepStore
  readonly #mainAnswers: RecordedAnswers
  readonly #mainScope: ScopeRecord
  readonly #idleTracker: IdleTracker | undefined
  #waiting: Map<StepKey, (value: Json) => void> | undefined
  #earlyAnswers: Map<StepKey, Json> | undefined
  /** Milliseconds of wall time that do not count as active time: before this process, and while waiting for people. */
  #idleMs: number
  /** When the current wait for a person began. The active clock is paused until no wait is left. */
  #waitingSince: number | undefined

  constructor(options: StepEngineOptions) {
    this.#options = options
    this.#log = options.log
    this.#clock = steadyClock(options.clock ?? systemClock)
    const { agents = [], replay = [] } = options
    this.#mainAnswers = new RecordedAnswers(agents.length === 0 ? replay : [...agents, ...replay])
    this.#mainScope = { scope: '', answers: this.#mainAnswers }
    this.#idleMs = this.#clock.now() - (options.recordedUntil ?? 0)
    if (this.#log.rests !== undefined) this.#idleTracker = new IdleTracker((ms) => this.#log.rests?.(ms), this.#clock)
  }

  get replaying(): boolean {
    return this.#mainAnswers.replaying
  }

  get #now(): number {
    return (this.#waitingSince ?? this.#clock.now()) - this.#idleMs
  }

  #record(record: StepRecord): void {
    this.#log.append(record)
  }

  peek(key: StepKey, answers: RecordedAnswers = this.#mainAnswers): 'done' | 'begun' | 'absent' {
    const found = answers.find(key)
    return found === undefined ? 'absent' : found.type === 'intent' ? 'begun' : 'done'
  }

  abandon(prefix: StepKey, answers: RecordedAnswers = this.#mainAnswers): readonly AbandonedStep[] {
    return answers.abandon(prefix)
  }

  begin(start: RunStart): number {
    const at = this.#now
    this.#record({ type: 'start', scope: start.run.agentPath, start, at })
    return at
  }

  run<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
    scopeRecord: ScopeRecord = this.#mainScope,
  ): MaybePromise<StepResult<T>> {
    try {
      if (this.#log.keeps === 'nothing') return this.#perform(key, effect, options)
      const step = this.#answerOrPerform(key, effect, options, scopeRecord)
      return this.#clock.pause === undefined ? step : this.#withPause(step)
    } catch (error) {
      // The engine refuses by rejecting, so that a caller that runs several steps concurrently receives the outcomes of all of them.
      return Promise.reject(error)
    }
  }

  // Spec R-STEP-15.
  /** Delays the code after a step until timers have run, if steps have followed each other for too long. */
  #withPause<T>(step: MaybePromise<StepResult<T>>): MaybePromise<StepResult<T>> {
    if (step instanceof Promise) return step.then((result) => this.#paused(result))
    return this.#paused(step)
  }

  #paused<T>(result: T): MaybePromise<T> {
    const pause = this.#clock.pause?.()
    return pause === undefined ? result : pause.then(() => result)
  }

  /** Runs only the side effect and records nothing. */
  #perform<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
  ): MaybePromise<StepResult<T>> {
    const intent = options.intent?.()
    const at = this.#now
    const value = effect(this.#scopeOf(key, options, intent))
    return value instanceof Promise ? value.then((value) => this.#performed(value, at)) : this.#performed(value, at)
  }

  #performed<T>(value: T, at: number): MaybePromise<StepResult<T>> {
    return this.#paused({ value, replayed: false, at, durationMs: this.#now - at })
  }

  #scopeOf<T>(key: StepKey, { signal, emit }: StepOptions<T>, intent: Json | undefined): SideEffectScope {
    const idempotencyKey = `${this.#options.sessionId ?? 'session'}/${key}`
    return intent === undefined ? { signal, idempotencyKey, emit } : { signal, idempotencyKey, emit, intent }
  }

  #answerOrPerform<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
    scopeRecord: ScopeRecord,
  ): MaybePromise<StepResult<T>> {
    const { answers } = scopeRecord
    const digest = options.digest?.() ?? null
    const found = answers.hasAny ? answers.take(key, digest) : undefined
    if (found?.type === 'result') {
      if (options.composite === true) answers.abandon(`${key}/`)
      // The record has the return value of this side effect: same key, same digest.
      return { value: found.value as T, replayed: true, at: found.at, durationMs: Math.max(0, found.durationMs) }
    }
    if (found?.type === 'intent' && options.onUnfinished !== 'rerun') {
      const value = options.onUnfinished(found.intent)
      const { at } = found
      this.#record({ type: 'result', key, digest, value, at, durationMs: 0 })
      return { value, replayed: true, at, durationMs: 0 }
    }
    if (this.#options.recordedOnly === true) throw this.#recordedFailure(scopeRecord) ?? notRecordedError(key)
    answers.goLive()
    const at = this.#now
    // A step that runs again already has a recorded intent.
    const intent = found?.type === 'intent' ? found.intent : options.intent?.()
    if (intent !== undefined && found === undefined) this.#record({ type: 'intent', key, digest, intent, at })
    const durable = options.sync === 'intent' ? this.#log.flush() : undefined
    const run = (): MaybePromise<StepResult<T>> => {
      const value = effect(this.#scopeOf(key, options, intent))
      if (!(value instanceof Promise)) return this.#recorded(key, digest, value, at)
      const recorded = value.then((value) => this.#recorded(key, digest, value, at))
      return this.#idleTracker === undefined ? recorded : this.#idleTracker.track(key, recorded)
    }
    return durable instanceof Promise ? durable.then(run) : run()
  }

  /** The error that broke the recorded run in this scope. It is returned only after all earlier steps have been answered. */
  #recordedFailure({ scope, answers }: ScopeRecord): HaltingError | undefined {
    if (answers.hasKeyContaining(scope)) return undefined
    for (const record of this.#options.replay ?? []) {
      if (record.type !== 'end' || record.scope !== scope) continue
      const { reason, error } = record.terminal
      return reason === 'error' && error !== undefined ? HaltingError.fromJSON(error) : undefined
    }
    return undefined
  }

  #recorded<T>(key: StepKey, digest: string | null, value: T, at: number): StepResult<T> {
    const durationMs = this.#now - at
    this.#record({ type: 'result', key, digest, value, at, durationMs })
    return { value, replayed: false, at, durationMs }
  }

  scope(name: string): StepEngine {
    return new ScopedSteps(this, { ...this.#mainScope, scope: name })
  }

  concurrent(name: string, prefix: StepKey): StepEngine {
    return new ScopedSteps(this, { scope: name, answers: this.#mainAnswers.split(prefix) })
  }

  lap(lap: Iteration): void {
    this.#record({ type: 'lap', lap })
    // The remaining records of the open turn belong to hooks that no longer exist. Their model requests were charged (`chargeOrphanedRequests`).
    if (lap.scope === '' && this.#options.recordedOnly !== true) this.#mainAnswers.clear()
  }

  control(
    key: StepKey,
    poll: () => PolledExternalInput,
    { isOpen = false }: ExternalInputOptions = {},
    answers: RecordedAnswers = this.#mainAnswers,
  ): PolledExternalInput {
    try {
      if (answers.hasAny) {
        const found = answers.take(key, null)
        if (found?.type === 'control') return found.control
        if (answers.replaying && !isOpen) return undefined
      }
      if (this.#options.recordedOnly === true) return undefined
      const input = poll()
      return andThen(input, (control) => this.#recordExternalInput(key, control))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #recordExternalInput(key: StepKey, control: ExternalInput | undefined): MaybePromise<ExternalInput | undefined> {
    if (control === undefined) return undefined
    this.#record({ type: 'control', key, control, at: this.#now })
    return andThen(this.#log.flush(), () => control)
  }

  async sleep(
    key: StepKey,
    ms: number,
    {
      signal,
    }: {
      /** Aborted when the log fails: the engine is broken from then on. */
      readonly signal: AbortSignal
    },
    scopeRecord: ScopeRecord = this.#mainScope,
  ): Promise<void> {
    const open = scopeRecord.answers.find(key)
    const recorded = open?.type === 'intent' && isJsonObject(open.intent) ? open.intent['until'] : undefined
    const until = typeof recorded === 'number' ? recorded : this.#now + ms
    const options = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'none' } as const
    const sleep = (): Promise<null> => this.#sleepUntil(key, until, signal)
    await this.run(key, sleep, { ...options, intent: () => ({ until }) }, scopeRecord)
  }

  #sleepUntil(key: StepKey, deadline: number, signal: AbortSignal): Promise<null> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        this.#idleTracker?.endWait(key)
        signal.removeEventListener('abort', wake)
        resolve(null)
      }
      const ms = Math.max(0, deadline - this.#now)
      const cancel = this.#clock.after(ms, wake)
      this.#idleTracker?.startWait(key, this.#clock.now() + ms)
      signal.addEventListener('abort', wake)
      if (signal.aborted) wake()
    })
  }

  async wait<T>(
    key: StepKey,
    waitOptions: WaitOptions,
    scopeRecord: ScopeRecord = this.#mainScope,
  ): Promise<WaitResult<T>> {
    const { signal, longestMs } = waitOptions
    const open = scopeRecord.answers.find(key)
    const recorded = open?.type === 'intent' ? waitTimesIn(open.intent) : undefined
    const times = recorded ?? (longestMs === undefined ? undefined : waitTimesFrom(this.#clock, longestMs))
    const options = { signal, emit: () => {}, onUnfinished: 'rerun', sync: 'intent' } as const
    const wait = (): Promise<WaitEnd> => this.#waitForEnd(key, waitOptions, times)
    const step = await this.run(key, wait, { ...options, intent: () => times ?? null }, scopeRecord)
    const { outcome, answer, why, waitedMs = 0, endedMs = 0 } = step.value
    return {
      // The record of a wait without a time limit contains only the answer.
      outcome: outcome ?? (answer === undefined ? 'aborted' : 'answered'),
      // The value that the caller passed to `answer` for this key.
      ...(answer !== undefined && { answer: answer as T }),
      ...(why !== undefined && { why }),
      waitedMs,
      endedMs,
    }
  }

  #waitForEnd(key: StepKey, { signal, wakeOn, onBegin }: WaitOptions, times: WaitTimes | undefined): Promise<WaitEnd> {
    const timed = times === undefined ? undefined : new WallWait(this.#clock, times)
    const ended = (outcome: WaitResult<Json>['outcome'], value: WaitEnd = {}): WaitEnd =>
      timed === undefined && wakeOn === undefined
        ? value
        : { outcome, ...value, waitedMs: timed?.waitedMs ?? 0, endedMs: timed?.endedMs ?? 0 }
    if (this.#earlyAnswers?.has(key) === true)
      return Promise.resolve(ended('answered', { answer: this.#earlyAnswers.get(key) ?? null }))
    return new Promise((resolve) => {
      let isOver = false
      const stop: { waking?: (() => void) | undefined } = {}
      const settle = (value: WaitEnd): void => {
        if (isOver) return
        isOver = true
        this.#waiting?.delete(key)
        this.#idleTracker?.endWait(key)
        signal.removeEventListener('abort', onAbort)
        timed?.cancel()
        stop.waking?.()
        this.#endWait()
        resolve(value)
      }
      const onAbort = (): void => settle(ended('aborted'))
      this.#waitingSince ??= this.#clock.now()
      ;(this.#waiting ??= new Map()).set(key, (value: Json) => settle(ended('answered', { answer: value })))
      this.#idleTracker?.startWait(key, timed === undefined ? Infinity : this.#clock.now() + timed.leftMs)
      signal.addEventListener('abort', onAbort)
      if (times !== undefined) onBegin?.({ sinceMs: times.since, untilMs: times.until })
      timed?.start(() => settle(ended('over')))
      stop.waking = wakeOn?.((why) => settle(ended('woken', { why })))
      if (isOver) stop.waking?.()
      else if (signal.aborted) onAbort()
    })
  }

  /** Ends a wait. Concurrent calls may each wait for a person, but idle time is counted once. */
  #endWait(): void {
    if (this.#waitingSince === undefined || (this.#waiting?.size ?? 0) > 0) return
    this.#idleMs += this.#clock.now() - this.#waitingSince
    this.#waitingSince = undefined
  }

  answer(key: StepKey, value: Json): void {
    const waiting = this.#waiting?.get(key)
    if (waiting !== undefined) waiting(value)
    // The first answer counts (R-STEP-4), even if it arrives before the wait.
    else if (this.#earlyAnswers?.has(key) !== true) (this.#earlyAnswers ??= new Map()).set(key, value)
  }

  async end(end: RunEnd, scope = ''): Promise<void> {
    this.#record({ type: 'end', scope, ...end })
    await this.#log.flush()
  }
}

/** The recorded outcome of a wait. For a wait without a time limit it contains only the answer. */
type WaitEnd = { readonly answer?: Json; readonly why?: string } & Partial<
  Pick<WaitResult<Json>, 'outcome' | 'waitedMs' | 'endedMs'>
>

/** The agent that runs the steps, and its record. */
interface ScopeRecord {
  readonly scope: string
  readonly answers: RecordedAnswers
}

/** The same step engine under a longer scope. */
class ScopedSteps implements StepEngine {
  readonly #steps: DurableStepEngine
  readonly #scopeRecord: ScopeRecord

  constructor(steps: DurableStepEngine, scopeRecord: ScopeRecord) {
    this.#steps = steps
    this.#scopeRecord = scopeRecord
  }

  get replaying(): boolean {
    return this.#scopeRecord.answers.replaying
  }

  peek(key: StepKey): 'done' | 'begun' | 'absent' {
    return this.#steps.peek(key, this.#scopeRecord.answers)
  }

  abandon(prefix: StepKey): readonly AbandonedStep[] {
    return this.#steps.abandon(prefix, this.#scopeRecord.answers)
  }

  begin(start: RunStart): number {
    return this.#steps.begin(start)
  }

  run<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
  ): MaybePromise<StepResult<T>> {
    return this.#steps.run(key, effect, options, this.#scopeRecord)
  }

  scope(name: string): StepEngine {
    return new ScopedSteps(this.#steps, { ...this.#scopeRecord, scope: `${this.#scopeRecord.scope}${name}` })
  }

  concurrent(name: string, prefix: StepKey): StepEngine {
    const { scope, answers } = this.#scopeRecord
    return new ScopedSteps(this.#steps, { scope: `${scope}${name}`, answers: answers.split(prefix) })
  }

  lap(lap: Iteration): void {
    this.#steps.lap(lap)
  }

  control(key: StepKey, poll: () => PolledExternalInput, options?: ExternalInputOptions): PolledExternalInput {
    return this.#steps.control(key, poll, options, this.#scopeRecord.answers)
  }

  sleep(key: StepKey, ms: number, options: { readonly signal: AbortSignal }): Promise<void> {
    return this.#steps.sleep(key, ms, options, this.#scopeRecord)
  }

  wait<T>(key: StepKey, options: WaitOptions): Promise<WaitResult<T>> {
    return this.#steps.wait(key, options, this.#scopeRecord)
  }

  end(end: RunEnd): Promise<void> {
    return this.#steps.end(end, this.#scopeRecord.scope)
  }
}

function notRecordedError(key: StepKey): HaltingError {
  return new HaltingError('replay_exhausted', `The step ${key} is unknown: the record ends before it.`)
}

/** Tracks the steps in progress, and reports when all of them are waiting. */
export class IdleTracker {
  readonly #report: (ms: number | null | undefined) => void
  readonly #clock: Clock
  #working = 0
  /** End of the wait of each waiting step, on the clock; Infinity for a person. */
  readonly #waits = new Map<string, number>()
  #reportedUntil: number | undefined

  constructor(report: (ms: number | null | undefined) => void, clock: Clock) {
    this.#report = report
    this.#clock = clock
  }

  /** Tracks the step until it settles, unless it waits. */
  track<T>(key: string, step: Promise<T>): Promise<T> {
    return this.#waits.has(key) ? step : this.#trackWork(step)
  }

  async #trackWork<T>(step: Promise<T>): Promise<T> {
    this.#working++
    this.#update()
    try {
      return await step
    } finally {
      this.#working--
      this.#update()
    }
  }

  /** Marks the step as waiting. `until`: milliseconds of the clock; Infinity for a person. */
  startWait(key: string, until: number): void {
    this.#waits.set(key, until)
    this.#update()
  }

  endWait(key: string): void {
    this.#waits.delete(key)
    this.#update()
  }

  #update(): void {
    const until = this.#working > 0 || this.#waits.size === 0 ? undefined : Math.min(...this.#waits.values())
    if (until === this.#reportedUntil) return
    this.#reportedUntil = until
    if (until === undefined) this.#report(undefined)
    else this.#report(until === Infinity ? null : Math.max(0, until - this.#clock.now()))
  }
}

export type Answer = Extract<StepRecord, { readonly type: 'result' | 'intent' | 'control' }>

/**
 * Recorded answers that were not used yet, either of the main loop and everything that it waits for, or of one
 * background agent. Each continues live at the end of its own record.
 */
export class RecordedAnswers {
  /** Undefined when nothing is replayed. */
  #answers: Map<StepKey, Answer> | undefined
  /** A step ran that was not recorded, so no later step counts as a replay. */
  #isLive = false

  constructor(records: readonly StepRecord[] = []) {
    for (const record of records) {
      // A result follows its intent and replaces it.
      if (record.type === 'result' || record.type === 'intent' || record.type === 'control') this.#put(record)
    }
  }

  #put(answer: Answer): void {
    ;(this.#answers ??= new Map()).set(answer.key, answer)
  }

  get replaying(): boolean {
    return !this.#isLive && this.hasAny
  }

  get hasAny(): boolean {
    return this.#answers !== undefined && this.#answers.size > 0
  }

  goLive(): void {
    this.#isLive = true
  }

  find(key: StepKey): Answer | undefined {
    return this.#answers?.get(key)
  }

  /** Removes and returns the answer. @throws HaltingError `step_mismatch` if the record answers another question. */
  take(key: StepKey, digest: string | null): Answer | undefined {
    const found = this.#answers?.get(key)
    if (found === undefined) return undefined
    this.#answers?.delete(key)
    if (found.type !== 'control' && found.digest !== digest) {
      throw new HaltingError(
        'step_mismatch',
        `The record of ${key} belongs to another prompt or another call. Nothing was written. Resume the run with its original transcript.`,
      )
    }
    return found
  }

  /** Removes and returns all answers whose keys have this prefix. */
  abandon(prefix: StepKey): readonly AbandonedStep[] {
    return this.#takeAll(prefix).flatMap((answer): readonly AbandonedStep[] => {
      if (answer.type === 'control') return []
      const { key } = answer
      return answer.type === 'result'
        ? [{ key, isDone: true, value: answer.value }]
        : [{ key, isDone: false, value: answer.intent }]
    })
  }

  /** Moves the answers of an agent to a separate instance, for concurrent use. */
  split(prefix: StepKey): RecordedAnswers {
    const others = new RecordedAnswers()
    for (const answer of this.#takeAll(prefix)) others.#put(answer)
    return others
  }

  #takeAll(prefix: StepKey): readonly Answer[] {
    const taken = [...(this.#answers ?? [])].flatMap(([key, answer]) => (key.startsWith(prefix) ? [answer] : []))
    for (const { key } of taken) this.#answers?.delete(key)
    return taken
  }

  /** Whether an answer's key contains the name. */
  hasKeyContaining(name: string): boolean {
    for (const key of this.#answers?.keys() ?? []) if (key.includes(name)) return true
    return false
  }

  clear(): void {
    this.#answers?.clear()
  }
}
