import { HaltingError, type Json } from '@halting/core'
import type { StepStore, StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { LeftError } from '../worker/departure.ts'
import { checkSize, mostInlineBytes, writtenRecord } from './batch.ts'
import { keptFormat } from './format.ts'

/** The engine gives up on an attempt from which it hears nothing for as long as its inactivity timeout. */
const heartbeatMs = 20_000
/** So long nothing may have happened before the engine lets go of the process: what a message sets going needs a moment. */
const restAfterMs = 200

interface Confirmation {
  readonly afterBatch: number
  readonly resolve: () => void
  readonly reject: (error: HaltingError) => void
}

/**
 * The records of a session on their way into the engine's journal. The loop appends; the attempt takes them, one batch at a time, and says when one is on record.
 * C1: records are taken in the order in which they were appended, each once. C2: `flush` resolves when all that was appended before it is on record. C3: after
 * `break` nothing is appended and every flush rejects, so that the run breaks: who waits for it to be over hears of it. C4: after `leave` nothing is appended
 * behind a lap at which no effect is under way; what was appended before it is taken, and then the log fails.
 */
export class ClusterLog implements StepStore {
  readonly keeps = 'all'
  readonly #store: PayloadStore | undefined
  readonly #waiting: string[] = []
  #taken = 0
  #appended = 0
  #onRecord = 0
  /** Until when all that goes on is waiting, by `performance.now`; null where it is for a message alone. */
  #rest: { readonly until: number | null } | undefined
  #stirredAt = 0
  #notes: readonly Json[] = []
  #done: Json | undefined
  #broken: HaltingError | undefined
  #failed: { readonly error: unknown } | undefined
  /** `at a lap`: that is to come. `left`: nothing comes any more. */
  #leaving: 'at a lap' | 'left' | undefined
  /** Keys of effects that were begun and have no result. */
  readonly #underWay = new Set<string>()
  #wake: (() => void) | undefined
  /** The first batch of an invocation goes at once: its format is on record before anything is done. */
  #isFirst = true
  readonly #flushes: {
    readonly upTo: number
    readonly resolve: () => void
    readonly reject: (error: HaltingError) => void
  }[] = []

  /** Batches that were taken. */
  #batches = 0
  #confirmations: readonly Confirmation[] = []

  constructor(store?: PayloadStore) {
    this.#store = store
  }

  append(record: StepRecord): void {
    if (this.#broken !== undefined) throw this.#broken
    // A record is what it is now: what it names may change.
    const text = JSON.stringify(record)
    checkSize(text, this.#store)
    this.#waiting.push(text)
    this.#appended++
    this.#watch(record)
    this.stir()
    this.#wake?.()
  }

  #watch(record: StepRecord): void {
    if (record.type === 'intent') this.#underWay.add(record.key)
    else if (record.type === 'result') this.#underWay.delete(record.key)
    else if (record.type === 'lap' && record.lap.scope === '' && this.#leaving === 'at a lap') this.#leaveIfQuiet()
  }

  /** This process is to end: the session is left at its next lap at which nothing else is under way. */
  leave(): void {
    this.#leaving ??= 'at a lap'
  }

  #leaveIfQuiet(): void {
    if (this.#underWay.size > 0) return
    this.#leaving = 'left'
    this.break()
  }

  flush(): Promise<void> | undefined {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    if (this.#onRecord === this.#appended) return undefined
    const upTo = this.#appended
    return new Promise((resolve, reject) => this.#flushes.push({ upTo, resolve, reject }))
  }

  /** Resolves when a batch is on record that was taken after this call: then the engine has taken this attempt for the one that works since. */
  confirmed(): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    const afterBatch = this.#batches
    return new Promise((resolve, reject) => {
      this.#confirmations = [...this.#confirmations, { afterBatch, resolve, reject }]
    })
  }

  rests(ms: number | null | undefined): void {
    this.#rest = ms === undefined ? undefined : { until: ms === null ? null : performance.now() + ms }
    this.stir()
    this.#wake?.()
  }

  /** Puts something on record that is no record of the loop: no sooner than what was appended before it. */
  note(note: Json): void {
    if (this.#leaving === 'left') return
    this.#notes = [...this.#notes, note]
    this.#wake?.()
  }

  /** Something happens that may end a rest. */
  stir(): void {
    this.#stirredAt = performance.now()
  }

  /** The work is over: what the handler gives back. */
  finish(result: Json): void {
    // It is over here, and not in the session.
    if (this.#leaving === 'left') return
    this.#done = result
    this.#wake?.()
  }

  /** The work cannot go on here. The engine tries again, from the record. */
  fail(error: unknown): void {
    // What the loop says to the end of its log is no failure: what was appended before is taken.
    if (this.#leaving === 'left') return
    this.#failed ??= { error }
    this.break()
    this.#wake?.()
  }

  /** What happens here from now on is no part of the session. */
  get isBroken(): boolean {
    return this.#broken !== undefined
  }

  /** This process has no part in the session any more. */
  break(): void {
    const broken = (this.#broken ??= new HaltingError('driver', 'The engine goes on with this session elsewhere.'))
    for (const { reject } of [...this.#flushes.splice(0), ...this.#confirmations]) reject(broken)
    this.#confirmations = []
  }

  /** The next batch, as JSON, when there is one; an empty one where nothing happens for long. */
  async take(): Promise<string> {
    const silentAfter = performance.now() + heartbeatMs
    while (!this.#isFirst && !this.#hasNews && !this.#mayRest && performance.now() < silentAfter)
      await this.#somethingComes(silentAfter)
    // What happens in one turn of the event loop goes together: a reply, and the calls that it asks for.
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (this.#failed !== undefined) throw this.#failed.error
    if (this.#leaving === 'left' && this.#waiting.length === 0) throw new LeftError()
    this.#batches++
    const waiting = this.#waiting.splice(0, this.#fitting)
    const notes = this.#waiting.length > 0 ? [] : this.#notes
    if (notes.length > 0) this.#notes = []
    const after = `${notes.length === 0 ? '' : `,"notes":${JSON.stringify(notes)}`}${this.#after()}`
    const records = await Promise.all(waiting.map((text) => writtenRecord(text, this.#store)))
    this.#taken += waiting.length
    this.#isFirst = false
    return `{"format":${keptFormat},"atMs":${Date.now()},"records":[${records.join(',')}]${after}}`
  }

  /** How many records go into one batch. */
  get #fitting(): number {
    let bytes = 0
    const over = this.#waiting.findIndex((text) => (bytes += text.length * 3) > mostInlineBytes)
    return over < 0 ? this.#waiting.length : Math.max(1, over)
  }

  #after(): string {
    if (this.#waiting.length > 0) return ''
    if (this.#done !== undefined) return `,"done":${JSON.stringify(this.#done)}`
    if (this.#rest === undefined || !this.#mayRest) return ''
    const { until } = this.#rest
    return `,"restMs":${until === null ? null : Math.ceil(Math.max(0, until - performance.now()))}`
  }

  /** The batch that was taken last is on record. */
  kept(): void {
    this.#isFirst = false
    const confirmed = this.#confirmations.filter(({ afterBatch }) => afterBatch < this.#batches)
    this.#confirmations = this.#confirmations.filter(({ afterBatch }) => afterBatch >= this.#batches)
    for (const { resolve } of confirmed) resolve()
    this.#onRecord = this.#taken
    for (let next = this.#flushes[0]; next !== undefined && next.upTo <= this.#onRecord; next = this.#flushes[0]) {
      this.#flushes.shift()
      next.resolve()
    }
  }

  get #hasNews(): boolean {
    return (
      this.#waiting.length > 0 ||
      this.#notes.length > 0 ||
      this.#done !== undefined ||
      this.#failed !== undefined ||
      this.#leaving === 'left'
    )
  }

  get #mayRest(): boolean {
    return (
      this.#rest !== undefined && this.#appended === this.#taken && performance.now() >= this.#stirredAt + restAfterMs
    )
  }

  async #somethingComes(atLatest: number): Promise<void> {
    const until = this.#rest === undefined ? atLatest : Math.min(atLatest, this.#stirredAt + restAfterMs)
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, Math.max(1, until - performance.now()))
    })
    clearTimeout(timer)
    this.#wake = undefined
  }
}
