import { anySignal, sharedAbort } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { LeftError, type Departure } from '../worker/departure.ts'
import { decodeBatch, type DecodedBatch } from './batch.ts'
import { ClusterLog, type RenewAfter } from './cluster-log.ts'
import type { Engine, EnginePromise } from './engine.ts'
import { compatibleFormat, recordsStep } from './format.ts'
import { SessionTexts } from './session-texts.ts'

/** Name of the signal that delivers requests to an invocation. */
export const mailSignal = 'mail'

/** Name of the signal by which an invocation learns that a client watches its session. */
export const watchSignal = 'watch'

/** Recorded from time to time by an attempt that waits for its turn: the engine gives up attempts that stay silent. */
const emptyBatch = `{"format":${compatibleFormat},"records":[]}`

/** The work at a session in this process. */
export interface Work {
  /** Delivers an external message, as JSON. After a crash, messages that are already in the records are delivered again. */
  deliver(message: string): void
  /** Called when the invocation was cancelled. */
  cancel(): void
  /** Called when all earlier messages were delivered. Runs until the work is over. */
  run(): Promise<void>
}

/** What an attempt receives when its work begins. */
export interface AttemptContext {
  /** The records of this invocation. */
  readonly records: readonly StepRecord[]
  /** The log for new records. `finish` and `fail` end the attempt. */
  readonly log: ClusterLog
  /** Aborted when the engine continues the session elsewhere, or when this process releases it at rest. */
  readonly gone: AbortSignal
  /** Whether the work is currently only waiting. If `gone` is aborted in that state, the session rests; otherwise it was interrupted. */
  readonly isResting: () => boolean
}

/** The turn of an attempt among those of its process. */
export interface AttemptTurn {
  /** `granted`: the work begins. `waits`: the wait was so long that the engine needs a heartbeat; send one and call this again. Rejects after `leave`. */
  next(): Promise<'granted' | 'waits'>
  /** Called when a message arrives while the attempt waits. */
  hear(message: string): void
  /** Called when the waiting attempt is cancelled. */
  hurry(): void
  /** Called when the work only waits, for example for a person. `giveUp` is called, once, when another session needs the place. */
  rests(giveUp: () => void): void
  /** Called when the work continues. */
  works(): void
  /** Called when the attempt no longer waits. Only called before the work has begun. */
  leave(): void
}

/** Options of one attempt of an invocation. */
export interface AttemptOptions<Turn extends AttemptTurn = AttemptTurn> {
  /** The engine of the invocation. */
  readonly engine: Engine
  /** Where large payloads are stored. Default: all payloads are inline. */
  readonly store?: PayloadStore | undefined
  /** Long texts of the session that are known already. */
  readonly texts?: SessionTexts
  /** How much an invocation may put on record before the next one continues. Default: no limit. */
  readonly renewAfter?: RenewAfter | undefined
  /** Messages that arrived before the invocation. */
  readonly mail?: readonly string[]
  /**
   * Returns messages that arrived before this one and were not delivered: while the handler awaits something else, the engine delivers only the newest. It must request the same
   * of the engine in every attempt.
   */
  readonly missedBefore?: ((message: string) => Promise<readonly string[]>) | undefined
  /** Other signals that deliver messages. Of several that arrive together, one is enough. */
  readonly bells?: readonly string[]
  /**
   * Begins the work. Called once the engine has replayed earlier attempts, and again after work at rest was released. In
   * the second case the earlier `gone` is aborted, and the new work receives all records and all messages. `turn`: the
   * turn that was granted.
   */
  readonly begin: (context: AttemptContext, turn?: Turn) => Work | Promise<Work>
  /** Called when a batch is on record, before the loop is notified. Every attempt gets the same batches in the same order. */
  readonly onBatch?: (batch: DecodedBatch) => void
  /** Called when a client watches the session. `message`: the message as it was sent. Every attempt receives it at the same position between batches. */
  readonly onWatch?: (message: string) => void
  /**
   * Returns a note that is put on record before the first attempt begins its work. Called once for each attempt that finds nothing of the work on record; undefined for no note.
   * Default: the work begins at once.
   */
  readonly firstNote?: (() => Json | undefined) | undefined
  /** How this process gives up its sessions before it ends. */
  readonly departure?: Departure | undefined
  /**
   * Receives a function that releases the work at its next iteration without an open effect, or at a rest. The attempt stays alive: it begins the work anew when it gets its turn
   * again.
   */
  readonly onYieldRequest?: ((makeWay: () => void) => void) | undefined
  /** Whether work at a rest is released at once, as by `onYieldRequest`. */
  readonly leavesAtRest?: (() => boolean) | undefined
  /** Requests the turn of this attempt before its work begins; `gone` has the same meaning as in `AttemptContext`. Default: the work begins at once. */
  readonly turn?: ((gone: AbortSignal) => Turn) | undefined
}

/** Runs one attempt of the engine at an invocation: replays what is on record, then continues the work. Returns what the handler returns. */
export async function attempt<Turn extends AttemptTurn = AttemptTurn>(options: AttemptOptions<Turn>): Promise<Json> {
  const attempt = new Attempt(options)
  try {
    return await Promise.race([attempt.run(), attempt.left])
  } finally {
    attempt.release()
  }
}

type AttemptEvent =
  | { readonly type: 'batch'; readonly text: string }
  | { readonly type: 'mail'; readonly message: string }
  | { readonly type: 'watch'; readonly message: string }
  | { readonly type: 'bell'; readonly name: string; readonly message: string }
  | { readonly type: 'cancelled' | 'woke' }

/**
 * One attempt.
 * E1: only this class awaits promises of the engine, one at a time.
 * E2: its next call to the engine follows from what the engine returned, so every attempt makes the same calls; the loop and its clock have no influence.
 * E3: the work begins within the first step whose result is not on record, or within the step after `firstNote`, so it knows everything before.
 * E4: at a rest the work may be released, which the engine does not see; it begins anew within the next step, as in another attempt.
 * E5: an attempt that waits for its turn writes only heartbeats, and leaves at once when this process is to end.
 */
class Attempt<Turn extends AttemptTurn> {
  readonly #options: AttemptOptions<Turn>
  readonly #engine: Engine
  #log: ClusterLog
  readonly #texts: SessionTexts
  /** Bytes that this invocation has on record. */
  #bytes = 0
  readonly #records: StepRecord[] = []
  /** All external inputs that were received. */
  readonly #inputs: ((work: Work) => void)[] = []
  readonly #messages: string[] = []
  #work: Work | undefined
  #workReleased = sharedAbort()
  #gone: AbortSignal | undefined
  #hasBegun = false
  /** Whether a part of the work is on record, or was noted. */
  #isOnRecord = false
  #turn: Turn | undefined
  #mail: EnginePromise<AttemptEvent>
  #watch: EnginePromise<AttemptEvent>
  readonly #bells: Map<string, EnginePromise<AttemptEvent>>
  #cancelled: EnginePromise<AttemptEvent> | undefined
  #isResting = false
  #isYielding = false
  readonly #released = sharedAbort()
  /** Rejects when this process leaves the session while the attempt awaits the engine. */
  readonly left: Promise<never>
  #leave: () => void = () => {}

  constructor(options: AttemptOptions<Turn>) {
    const { engine, mail = [], bells = [], texts = new SessionTexts() } = options
    this.#options = options
    this.#engine = engine
    this.#texts = texts
    this.#log = this.#newLog()
    this.#messages = [...mail]
    this.#inputs = mail.map((message) => (work) => work.deliver(message))
    this.#mail = this.#nextMail()
    this.#watch = this.#nextWatch()
    this.#bells = new Map(bells.map((name) => [name, this.#nextBell(name)]))
    this.#cancelled = engine.cancelled().map(() => ({ type: 'cancelled' }))
    engine.gone.addEventListener('abort', () => this.#log.break())
    this.left = new Promise<never>((_, reject) => {
      this.#leave = () => {
        this.#log.break()
        reject(new LeftError())
      }
    })
    this.left.catch(() => {})
    this.#watchDeparture()
    options.onYieldRequest?.(() => {
      if (this.#isResting) return this.#releaseWork()
      this.#isYielding = true
      this.#log.leave()
    })
  }

  #watchDeparture(): void {
    const { departure } = this.#options
    if (departure === undefined) return
    const { signal } = this.#released
    const onSoon = (): void => (this.#isResting || this.#isWaiting ? this.#leave() : this.#log.leave())
    departure.soon.addEventListener('abort', onSoon, { signal })
    departure.now.addEventListener('abort', this.#leave, { signal })
    if (departure.soon.aborted) onSoon()
    if (departure.now.aborted) this.#leave()
  }

  /** Called when the attempt is over, so that the departure of the process no longer affects it. */
  release(): void {
    this.#released.abort()
    if (this.#isWaiting) this.#turn?.leave()
  }

  /** Creates a log with room for what the invocation may still put on record. */
  #newLog(): ClusterLog {
    const { renewAfter, store } = this.#options
    const room = renewAfter && {
      records: renewAfter.records - this.#records.length,
      bytes: renewAfter.bytes - this.#bytes,
    }
    return new ClusterLog(store, this.#texts, room)
  }

  /** Whether the attempt waits for its turn. */
  get #isWaiting(): boolean {
    return this.#turn !== undefined && !this.#hasBegun
  }

  async run(): Promise<Json> {
    const { store, onBatch } = this.#options
    for (;;) {
      const step = this.#engine.once(recordsStep, () => this.#take())
      const { event, wasWoken } = await this.#until(step.map((text) => ({ type: 'batch', text })))
      if (event.type !== 'batch') continue
      const batch = await decodeBatch(event.text, store, this.#texts)
      this.#records.push(...batch.records)
      this.#isOnRecord ||= batch.records.length > 0 || batch.notes !== undefined
      this.#bytes += event.text.length
      onBatch?.(batch)
      this.#log.onBatchStored()
      if (batch.done !== undefined) return batch.done
      // A message that arrived since the batch was written may have ended the rest.
      if (batch.restMs !== undefined && !wasWoken) await this.#rest(batch.restMs)
    }
  }

  /** Waits for `step`, and handles what arrives meanwhile. */
  async #until(
    step: EnginePromise<AttemptEvent>,
  ): Promise<{ readonly event: AttemptEvent; readonly wasWoken: boolean }> {
    let wasWoken = false
    for (;;) {
      const event = await this.#engine.first([step, ...this.#fromOutside])
      if (event.type === 'batch') return { event, wasWoken }
      await this.#handle(event)
      // A watching client does not end a rest.
      wasWoken ||= event.type !== 'watch'
    }
  }

  async #rest(ms: number | null): Promise<void> {
    if (this.#options.departure?.soon.aborted === true) throw new LeftError()
    this.#isResting = true
    const timers = ms === null ? [] : [this.#engine.sleep(ms).map((): AttemptEvent => ({ type: 'woke' }))]
    const turn = this.#turn
    // The session may give up its place for another reason, and work again with another turn, before it is closed here.
    turn?.rests(() => {
      if (this.#turn === turn) this.#releaseWork()
    })
    if (this.#isYielding || this.#options.leavesAtRest?.() === true) this.#releaseWork()
    let event: AttemptEvent
    do {
      event = await this.#engine.first([...timers, ...this.#fromOutside])
      await this.#handle(event)
    } while (event.type === 'watch')
    this.#turn?.works()
    this.#isResting = false
  }

  /** Releases the work, all of which is on record. */
  #releaseWork(): void {
    if (this.#work === undefined) return
    this.#workReleased.abort()
    this.#log.break()
    this.#workReleased = sharedAbort()
    this.#log = this.#newLog()
    this.#work = undefined
    this.#isYielding = false
    this.#turn = undefined
    this.#gone = undefined
    this.#hasBegun = false
  }

  get #fromOutside(): readonly EnginePromise<AttemptEvent>[] {
    const signals = [this.#mail, this.#watch, ...this.#bells.values()]
    return this.#cancelled === undefined ? signals : [...signals, this.#cancelled]
  }

  #nextWatch(): EnginePromise<AttemptEvent> {
    return this.#engine.signal(watchSignal).map((message) => ({ type: 'watch', message }))
  }

  #nextMail(): EnginePromise<AttemptEvent> {
    return this.#engine.signal(mailSignal).map((message) => ({ type: 'mail', message }))
  }

  #nextBell(name: string): EnginePromise<AttemptEvent> {
    return this.#engine.signal(name).map((message) => ({ type: 'bell', name, message }))
  }

  async #handle(event: AttemptEvent): Promise<void> {
    if (event.type === 'mail') {
      const { message } = event
      this.#mail = this.#nextMail()
      const missed = (await this.#options.missedBefore?.(message)) ?? []
      for (const each of [...missed, message]) this.#handleMail(each)
    } else if (event.type === 'bell') {
      const { name, message } = event
      this.#bells.set(name, this.#nextBell(name))
      this.#forward((work) => work.deliver(message))
    } else if (event.type === 'watch') {
      this.#watch = this.#nextWatch()
      this.#options.onWatch?.(event.message)
    } else if (event.type === 'cancelled') {
      this.#cancelled = undefined
      this.#forward((work) => work.cancel())
      if (this.#isWaiting) this.#turn?.hurry()
    }
  }

  #handleMail(message: string): void {
    this.#messages.push(message)
    this.#forward((work) => work.deliver(message))
    if (this.#isWaiting) this.#turn?.hear(message)
  }

  #forward(what: (work: Work) => void): void {
    this.#log.noteActivity()
    this.#inputs.push(what)
    if (this.#work !== undefined) what(this.#work)
  }

  async #take(): Promise<string> {
    if (!this.#hasBegun) {
      if ((await this.#nextTurn()) === 'waits') return emptyBatch
      if (this.#released.signal.aborted) throw new LeftError()
      const note = this.#isOnRecord ? undefined : this.#options.firstNote?.()
      this.#isOnRecord = true
      if (note !== undefined) {
        this.#log.note(note)
        return this.#log.take()
      }
      this.#hasBegun = true
      void this.#begin()
    }
    try {
      return await this.#log.take()
    } catch (error) {
      if (!(error instanceof LeftError && this.#isYielding) || this.#options.departure?.soon.aborted === true)
        throw error
      this.#releaseWork()
      return this.#take()
    }
  }

  async #nextTurn(): Promise<'granted' | 'waits'> {
    const { turn } = this.#options
    this.#gone ??= anySignal([this.#engine.gone, this.#workReleased.signal])
    if (turn === undefined) return 'granted'
    if (this.#turn === undefined) {
      const { departure } = this.#options
      if (departure?.soon.aborted === true) throw new LeftError()
      this.#turn = turn(this.#gone)
      for (const message of this.#messages) this.#turn.hear(message)
      if (this.#cancelled === undefined) this.#turn.hurry()
    }
    return this.#turn.next()
  }

  async #begin(): Promise<void> {
    const log = this.#log
    const turn = this.#turn
    try {
      const gone = (this.#gone ??= anySignal([this.#engine.gone, this.#workReleased.signal]))
      const context = { records: [...this.#records], log, gone, isResting: () => this.#isResting }
      const work = await this.#begun(context, turn)
      this.#work = work
      for (const what of this.#inputs) what(work)
      await work.run()
    } catch (error) {
      log.fail(error)
    }
  }

  async #begun(context: AttemptContext, turn: Turn | undefined): Promise<Work> {
    try {
      return await this.#options.begin(context, turn)
    } catch (error) {
      // No work has begun that would return the turn.
      turn?.leave()
      throw error
    }
  }
}
