import { HaltingError } from '../errors.ts'
import { fieldsOf, isFunction, refuse } from '../given.ts'
import type { Eventually } from '../eventually.ts'
import { isJsonObject, type Json } from '../json.ts'
import type { Lap, RunStart } from '../state.ts'
import type { Terminal } from '../stop/terminal.ts'
import type { Clock } from './clock.ts'
import type { Control } from './control.ts'
import type { EffectScope, PolledControl, StepKey, StepOptions, StepResult, Steps } from './steps.ts'
import { systemClock } from './system-clock.ts'

/** What a driver keeps, in the order in which it happened. JSON, but for the terminal's classes, which have a `toJSON`. */
export type StepRecord =
  | { readonly type: 'start'; readonly scope: string; readonly start: RunStart; readonly at: number }
  | {
      readonly type: 'intent'
      readonly key: StepKey
      readonly digest: string | null
      readonly intent: Json
      readonly at: number
    }
  | {
      readonly type: 'result'
      readonly key: StepKey
      readonly digest: string | null
      readonly value: unknown
      readonly at: number
      readonly durationMs: number
    }
  | { readonly type: 'control'; readonly key: StepKey; readonly control: Control; readonly at: number }
  | { readonly type: 'lap'; readonly lap: Lap }
  | { readonly type: 'end'; readonly scope: string; readonly terminal: Terminal }

type Answer = Extract<StepRecord, { readonly type: 'result' | 'intent' | 'control' }>

/** What a memory driver begins with; without options it is empty and keeps everything. */
export interface MemoryStepsOptions {
  readonly clock?: Clock
  /** Records of the open turn to answer from, and of what came before it, for the clock. */
  readonly replay?: readonly StepRecord[]
  /** Refuses to run anything that is not on record: replay and what-if. */
  readonly recordedOnly?: boolean
  /** `nothing`: for runs that nobody will resume or replay. */
  readonly keep?: 'all' | 'nothing'
  /** Records from before the open turn: kept, so that what this driver holds is the whole story. */
  readonly past?: readonly StepRecord[]
  readonly sessionId?: string
  /** Called with every record, before whatever it stands for goes on. Throwing breaks the driver. */
  readonly onRecord?: (record: StepRecord) => void
}

/** A driver whose records can be read: JSON, so that they can be written to a file and given to `resume` or `replay`. */
export interface MemorySteps extends Steps {
  readonly records: readonly StepRecord[]
  /** Gives a person's answer to a `wait`. */
  answer(key: StepKey, value: Json): void
}

/** The driver that keeps its record in memory. @throws ConfigurationError for options that are none. */
export function createMemorySteps(options: MemoryStepsOptions = {}): MemorySteps {
  if (fieldsOf(options) === undefined) refuse('createMemorySteps', 'given an object, such as { onRecord }', options)
  if (options.onRecord !== undefined) isFunction('onRecord', options.onRecord)
  return new MemoryDriver(options)
}

class MemoryDriver implements MemorySteps {
  readonly records: StepRecord[]
  readonly #clock: Clock
  readonly #options: MemoryStepsOptions
  /** What is on record of the open turn and was not asked for yet; without any when nothing is replayed. */
  readonly #answers: Map<StepKey, Answer> | undefined
  #waiting: Map<StepKey, (value: Json) => void> | undefined
  #given: Map<StepKey, Json> | undefined
  /** Wall time that is not active time: before this process, and while a person was waited for. */
  #idleMs: number
  /** Since when somebody is waited for; the active clock stands still there until nobody is. */
  #waitingSince: number | undefined
  /** Something ran that was not on record: from here on nothing is a replay. */
  #live = false

  constructor(options: MemoryStepsOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.records =
      options.past === undefined ? [...(options.replay ?? [])] : [...options.past, ...(options.replay ?? [])]
    for (const record of options.replay ?? []) {
      // A result comes after its intent and takes its place.
      if (record.type === 'result' || record.type === 'intent' || record.type === 'control')
        (this.#answers ??= new Map()).set(record.key, record)
    }
    this.#idleMs = this.#clock.now() - lastMomentOf(this.records)
  }

  get replaying(): boolean {
    return !this.#live && this.#hasAnswers
  }

  get #hasAnswers(): boolean {
    return this.#answers !== undefined && this.#answers.size > 0
  }

  get #now(): number {
    return (this.#waitingSince ?? this.#clock.now()) - this.#idleMs
  }

  #record(record: StepRecord): void {
    this.#options.onRecord?.(record)
    if (this.#options.keep === 'nothing') return
    this.records.push(record)
  }

  peek(key: StepKey): 'done' | 'begun' | 'absent' {
    const found = this.#answers?.get(key)
    return found === undefined ? 'absent' : found.type === 'intent' ? 'begun' : 'done'
  }

  begin(start: RunStart): number {
    const at = this.#now
    this.#record({ type: 'start', scope: start.run.agentPath, start, at })
    return at
  }

  run<T>(
    key: StepKey,
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
    scope = '',
  ): Eventually<StepResult<T>> {
    try {
      return this.#options.keep === 'nothing'
        ? this.#perform(key, effect, options)
        : this.#answerOrPerform(key, effect, options, scope)
    } catch (error) {
      // A driver refuses by rejecting, so that whoever runs several steps together hears of all of them.
      return Promise.reject(error)
    }
  }

  /** The effect alone: nothing is kept of it. */
  #perform<T>(
    key: StepKey,
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
  ): Eventually<StepResult<T>> {
    options.intent?.()
    const at = this.#now
    const value = effect(this.#scopeOf(key, options))
    return value instanceof Promise
      ? value.then((came) => ({ value: came, replayed: false, at, durationMs: this.#now - at }))
      : { value, replayed: false, at, durationMs: this.#now - at }
  }

  #scopeOf<T>(key: StepKey, { signal, emit }: StepOptions<T>): EffectScope {
    return { signal, idempotencyKey: `${this.#options.sessionId ?? 'session'}/${key}`, emit }
  }

  #answerOrPerform<T>(
    key: StepKey,
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
    scope: string,
  ): Eventually<StepResult<T>> {
    const digest = options.digest?.() ?? null
    const found = this.#hasAnswers ? this.#take(key, digest) : undefined
    if (found?.type === 'result') {
      if (options.composite === true) this.#dropParts(key)
      // The record holds what this effect returned: same key, same digest.
      return { value: found.value as T, replayed: true, at: found.at, durationMs: found.durationMs }
    }
    if (found?.type === 'intent' && options.onUnfinished !== 'rerun') {
      const value = options.onUnfinished(found.intent)
      const { at } = found
      this.#record({ type: 'result', key, digest, value, at, durationMs: 0 })
      return { value, replayed: true, at, durationMs: 0 }
    }
    if (this.#options.recordedOnly === true) throw this.#brokeHere(scope) ?? notOnRecord(key)
    this.#live = true
    const at = this.#now
    // A step that is run again has its intent on record already.
    if (options.intent !== undefined && found === undefined) {
      this.#record({ type: 'intent', key, digest, intent: options.intent(), at })
    }
    const value = effect(this.#scopeOf(key, options))
    return value instanceof Promise
      ? value.then((came) => this.#recorded(key, digest, came, at))
      : this.#recorded(key, digest, value, at)
  }

  /** What broke the recorded run of this scope, where all that it did before is told. */
  #brokeHere(scope: string): HaltingError | undefined {
    for (const key of this.#answers?.keys() ?? []) if (key.includes(scope)) return undefined
    for (const record of this.#options.replay ?? []) {
      if (record.type !== 'end' || record.scope !== scope) continue
      const { reason, error } = record.terminal
      return reason === 'error' && error !== undefined ? HaltingError.fromJSON(error) : undefined
    }
    return undefined
  }

  #dropParts(key: StepKey): void {
    for (const other of this.#answers?.keys() ?? []) if (other.startsWith(`${key}/`)) this.#answers?.delete(other)
  }

  #recorded<T>(key: StepKey, digest: string | null, value: T, at: number): StepResult<T> {
    const durationMs = this.#now - at
    this.#record({ type: 'result', key, digest, value, at, durationMs })
    return { value, replayed: false, at, durationMs }
  }

  #take(key: StepKey, digest: string | null): Answer | undefined {
    const found = this.#answers?.get(key)
    if (found === undefined) return undefined
    this.#answers?.delete(key)
    if (found.type !== 'control' && found.digest !== digest) {
      throw new HaltingError(
        'step_mismatch',
        `The record of ${key} is of another prompt or another call. Nothing was written: resume it over the transcript that it was made over.`,
      )
    }
    return found
  }

  scope(name: string): Steps {
    return new ScopedSteps(this, name)
  }

  lap(lap: Lap): void {
    this.#record({ type: 'lap', lap })
    // What is left of the open turn is of hooks that are no longer there.
    if (lap.scope === '' && this.#options.recordedOnly !== true) this.#answers?.clear()
  }

  control(key: StepKey, poll: () => PolledControl): PolledControl {
    try {
      if (this.#hasAnswers) {
        const found = this.#take(key, null)
        if (found?.type === 'control') return found.control
        if (this.replaying) return undefined
      }
      if (this.#options.recordedOnly === true) return undefined
      const polled = poll()
      return polled instanceof Promise
        ? polled.then((control) => this.#delivered(key, control))
        : this.#delivered(key, polled)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #delivered(key: StepKey, control: Control | undefined): Control | undefined {
    if (control !== undefined) this.#record({ type: 'control', key, control, at: this.#now })
    return control
  }

  async sleep(key: StepKey, ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const open = this.#answers?.get(key)
    const recorded = open?.type === 'intent' && isJsonObject(open.intent) ? open.intent['until'] : undefined
    const until = typeof recorded === 'number' ? recorded : this.#now + ms
    await this.run(key, () => this.#sleepUntil(until, signal), {
      signal,
      emit: () => {},
      intent: () => ({ until }),
      onUnfinished: 'rerun',
      sync: 'none',
    })
  }

  #sleepUntil(deadline: number, signal: AbortSignal): Promise<null> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve(null)
      }
      const cancel = this.#clock.after(Math.max(0, deadline - this.#now), wake)
      signal.addEventListener('abort', wake)
      if (signal.aborted) wake()
    })
  }

  async wait<T>(key: StepKey, { signal }: { readonly signal: AbortSignal }): Promise<T | undefined> {
    const step = await this.run<{ readonly answer?: Json }>(key, () => this.#answerOf(key, signal), {
      signal,
      emit: () => {},
      intent: () => null,
      onUnfinished: 'rerun',
      sync: 'intent',
    })
    // The answer is what the caller of `answer` gave for this key.
    return step.value.answer as T | undefined
  }

  #answerOf(key: StepKey, signal: AbortSignal): Promise<{ readonly answer?: Json }> {
    return new Promise((resolve) => {
      const settle = (value: { readonly answer?: Json }): void => {
        this.#waiting?.delete(key)
        signal.removeEventListener('abort', onAbort)
        this.#endWait()
        resolve(value)
      }
      const onAbort = (): void => settle({})
      if (this.#given?.has(key) === true) return resolve({ answer: this.#given.get(key) ?? null })
      this.#waitingSince ??= this.#clock.now()
      ;(this.#waiting ??= new Map()).set(key, (value: Json) => settle({ answer: value }))
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
    })
  }

  /** Calls that run side by side may each wait for a person: idle time is counted once. */
  #endWait(): void {
    if (this.#waitingSince === undefined || (this.#waiting?.size ?? 0) > 0) return
    this.#idleMs += this.#clock.now() - this.#waitingSince
    this.#waitingSince = undefined
  }

  answer(key: StepKey, value: Json): void {
    const waiting = this.#waiting?.get(key)
    if (waiting === undefined) (this.#given ??= new Map()).set(key, value)
    else waiting(value)
  }

  async end(terminal: Terminal, scope = ''): Promise<void> {
    this.#record({ type: 'end', scope, terminal })
  }
}

/** The same driver under a longer name. */
class ScopedSteps implements Steps {
  readonly #steps: MemoryDriver
  readonly #name: string

  constructor(steps: MemoryDriver, name: string) {
    this.#steps = steps
    this.#name = name
  }

  get replaying(): boolean {
    return this.#steps.replaying
  }

  peek(key: StepKey): 'done' | 'begun' | 'absent' {
    return this.#steps.peek(key)
  }

  begin(start: RunStart): number {
    return this.#steps.begin(start)
  }

  run<T>(
    key: StepKey,
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
  ): Eventually<StepResult<T>> {
    return this.#steps.run(key, effect, options, this.#name)
  }

  scope(name: string): Steps {
    return new ScopedSteps(this.#steps, `${this.#name}${name}`)
  }

  lap(lap: Lap): void {
    this.#steps.lap(lap)
  }

  control(key: StepKey, poll: () => PolledControl): PolledControl {
    return this.#steps.control(key, poll)
  }

  sleep(key: StepKey, ms: number, options: { readonly signal: AbortSignal }): Promise<void> {
    return this.#steps.sleep(key, ms, options)
  }

  wait<T>(key: StepKey, options: { readonly signal: AbortSignal }): Promise<T | undefined> {
    return this.#steps.wait(key, options)
  }

  end(terminal: Terminal): Promise<void> {
    return this.#steps.end(terminal, this.#name)
  }
}

/** How far a record goes, on the session's active clock. */
export function lastMomentOf(records: readonly StepRecord[]): number {
  return records.reduce(latest, 0)
}

function latest(time: number, record: StepRecord): number {
  if (record.type === 'result') return Math.max(time, record.at + record.durationMs)
  return 'at' in record ? Math.max(time, record.at) : time
}

function notOnRecord(key: StepKey): HaltingError {
  return new HaltingError('replay_exhausted', `What happens at ${key} is not known: the record ends before it.`)
}
