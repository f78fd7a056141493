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

/** The name under which messages come to an invocation. */
export const mailSignal = 'mail'

/** The name under which an invocation hears that somebody watches its session. */
export const watchSignal = 'watch'

/** What is on record of an attempt that waits for its turn, now and then: the engine gives up on one from which it hears nothing. */
const emptyBatch = `{"format":${compatibleFormat},"records":[]}`

/** What goes on in this process for a session, while the engine says that it does. */
export interface Work {
  /** A message from outside, as JSON. What the records show as taken comes again after a crash. */
  deliver(message: string): void
  /** Somebody cancels the invocation. */
  cancel(): void
  /** Everything that came before was delivered. Goes on until the work is over. */
  run(): Promise<void>
}

/** What an attempt knows when its work begins. */
export interface AttemptContext {
  /** What is on record of this invocation. */
  readonly records: readonly StepRecord[]
  /** Where new records go. `finish` and `fail` end the attempt. */
  readonly log: ClusterLog
  /** Aborted when the engine goes on with the session elsewhere, or this process lets go of it at rest. */
  readonly gone: AbortSignal
  /** Whether all that the work does at this moment is waiting: when `gone` is aborted, the session then rests, and else it was left in the middle. */
  readonly isResting: () => boolean
}

/** The turn of an attempt among those of its process. */
export interface AttemptTurn {
  /** `granted`: the work begins. `waits`: it has waited for so long that the engine has to hear of it; ask again. Rejects after `leave`. */
  next(): Promise<'granted' | 'waits'>
  /** A message came while it waits. */
  hear(message: string): void
  /** Somebody cancels what waits. */
  hurry(): void
  /** The work only waits, such as for a person. `giveUp` is called, once, when another one needs its place. */
  rests(giveUp: () => void): void
  /** It works again. */
  works(): void
  /** It waits no longer. Called before the work has begun. */
  leave(): void
}

/** Options of one attempt of an invocation. */
export interface AttemptOptions<Turn extends AttemptTurn = AttemptTurn> {
  /** The engine of the invocation. */
  readonly engine: Engine
  /** Where large payloads are; without it all of them are inline. */
  readonly store?: PayloadStore | undefined
  /** What is known of the session's long texts. */
  readonly texts?: SessionTexts
  /** When an invocation has enough on record; it never has without it. */
  readonly renewAfter?: RenewAfter | undefined
  /** Messages that were there before the invocation. */
  readonly mail?: readonly string[]
  /**
   * Messages that came before this one and were not told: of those that come while the handler awaits something else, the engine tells the last alone. What is asked
   * of the engine for it follows from what the engine told.
   */
  readonly missedBefore?: ((message: string) => Promise<readonly string[]>) | undefined
  /** Other names under which messages come. They are heard as mail is, and of several that come at once one says all. */
  readonly bells?: readonly string[]
  /**
   * Begins the work. Called when the engine has nothing more to tell of earlier attempts, and again after work at rest was let go of: `gone` of that is aborted,
   * and what is begun then finds all that is on record and hears all that came. `turn` is the one that was granted.
   */
  readonly begin: (context: AttemptContext, turn?: Turn) => Work | Promise<Work>
  /** A batch is on record, and the loop has not heard of that. Called in every attempt, with the same batches in the same order. */
  readonly onBatch?: (batch: DecodedBatch) => void
  /** Somebody watches the session. `message`: as it was sent. Called in every attempt, at the same place between batches. */
  readonly onWatch?: (message: string) => void
  /**
   * What goes on record, and is so before the first attempt begins its work. Asked once for each attempt that finds nothing of the work on record; undefined for nothing that has to be.
   * Without it the work begins at once.
   */
  readonly firstNote?: (() => Json | undefined) | undefined
  /** How this process ends, where it does not just die. */
  readonly departure?: Departure | undefined
  /** Given what lets go of the work at its next lap at which no effect is under way, or at a rest. The attempt goes on: it begins the work anew, when it has its turn again. */
  readonly onMakeWay?: ((makeWay: () => void) => void) | undefined
  /** Whether work at a rest is let go of at once, as `onMakeWay` has it done. */
  readonly leavesAtRest?: (() => boolean) | undefined
  /** Asks for the turn of this attempt, before its work begins; `gone` as in `AttemptContext`. Without it the work begins at once. */
  readonly turn?: ((gone: AbortSignal) => Turn) | undefined
}

/** One attempt of the engine at an invocation: what is on record is read, then the work goes on. Gives what the handler gives back. */
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
 * E1: this alone awaits promises of the engine, one at a time. E2: what it asks of the engine next follows from what the engine told, so every attempt asks for
 * the same; the loop and its clock have no part in it. E3: the work begins within the first step whose result is not on record, or the one behind `firstNote`, so it knows all that was. E4: at a rest the
 * work may be let go of, which the engine does not see; it begins anew within the next step, as in another attempt. E5: an attempt that waits for its turn writes nothing but
 * what keeps the engine's patience, and leaves at once when this process is to end.
 */
class Attempt<Turn extends AttemptTurn> {
  readonly #options: AttemptOptions<Turn>
  readonly #engine: Engine
  #log: ClusterLog
  readonly #texts: SessionTexts
  /** Bytes of what is on record of this invocation. */
  #bytes = 0
  readonly #records: StepRecord[] = []
  /** All that came from outside. */
  readonly #inputs: ((work: Work) => void)[] = []
  readonly #messages: string[] = []
  #work: Work | undefined
  #releaseWork = sharedAbort()
  #gone: AbortSignal | undefined
  #hasBegun = false
  /** Something of the work is on record, or was noted to be. */
  #isOnRecord = false
  #turn: Turn | undefined
  #mail: EnginePromise<AttemptEvent>
  #watch: EnginePromise<AttemptEvent>
  readonly #bells: Map<string, EnginePromise<AttemptEvent>>
  #cancelled: EnginePromise<AttemptEvent> | undefined
  #isResting = false
  #makesWay = false
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
    options.onMakeWay?.(() => {
      if (this.#isResting) return this.#makeRoom()
      this.#makesWay = true
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

  /** The attempt is over: how the process ends is no affair of it any more. */
  release(): void {
    this.#released.abort()
    if (this.#isWaiting) this.#turn?.leave()
  }

  /** Its room is what the invocation may still have on record. */
  #newLog(): ClusterLog {
    const { renewAfter, store } = this.#options
    const room = renewAfter && {
      records: renewAfter.records - this.#records.length,
      bytes: renewAfter.bytes - this.#bytes,
    }
    return new ClusterLog(store, this.#texts, room)
  }

  /** For its turn. */
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
      // What was heard since it was written may have ended the rest.
      if (batch.restMs !== undefined && !wasWoken) await this.#rest(batch.restMs)
    }
  }

  /** Waits for `step`, and hears what comes meanwhile. */
  async #until(
    step: EnginePromise<AttemptEvent>,
  ): Promise<{ readonly event: AttemptEvent; readonly wasWoken: boolean }> {
    let wasWoken = false
    for (;;) {
      const event = await this.#engine.first([step, ...this.#fromOutside])
      if (event.type === 'batch') return { event, wasWoken }
      await this.#handle(event)
      // Who watches ends no rest.
      wasWoken ||= event.type !== 'watch'
    }
  }

  async #rest(ms: number | null): Promise<void> {
    if (this.#options.departure?.soon.aborted === true) throw new LeftError()
    this.#isResting = true
    const timers = ms === null ? [] : [this.#engine.sleep(ms).map((): AttemptEvent => ({ type: 'woke' }))]
    const turn = this.#turn
    // The session may give its place up for another reason, and work again with another turn before it is closed here.
    turn?.rests(() => {
      if (this.#turn === turn) this.#makeRoom()
    })
    if (this.#makesWay || this.#options.leavesAtRest?.() === true) this.#makeRoom()
    let event: AttemptEvent
    do {
      event = await this.#engine.first([...timers, ...this.#fromOutside])
      await this.#handle(event)
    } while (event.type === 'watch')
    this.#turn?.works()
    this.#isResting = false
  }

  /** Lets go of the work: all that it was is on record. */
  #makeRoom(): void {
    if (this.#work === undefined) return
    this.#releaseWork.abort()
    this.#log.break()
    this.#releaseWork = sharedAbort()
    this.#log = this.#newLog()
    this.#work = undefined
    this.#makesWay = false
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
      if (!(error instanceof LeftError && this.#makesWay) || this.#options.departure?.soon.aborted === true) throw error
      this.#makeRoom()
      return this.#take()
    }
  }

  async #nextTurn(): Promise<'granted' | 'waits'> {
    const { turn } = this.#options
    this.#gone ??= anySignal([this.#engine.gone, this.#releaseWork.signal])
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
      const gone = (this.#gone ??= anySignal([this.#engine.gone, this.#releaseWork.signal]))
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
      // No work has begun that would give the turn back.
      turn?.leave()
      throw error
    }
  }
}
