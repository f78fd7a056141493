import { HaltingError, type Json } from '@halting/core'
import type { StepStore, StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { engineClock } from '../http/engine-clock.ts'
import { LeftError } from '../worker/departure.ts'
import { checkSize, maxInlineBytes, encodePackedRecord, encodeRecord } from './batch.ts'
import { storageFormat, compatibleFormat } from './format.ts'
import { packRecord, type Packing } from './packed-record.ts'
import { SessionTexts, type StoredText } from './session-texts.ts'

/** Heartbeat: the engine gives up an attempt that stays silent for its inactivity timeout. */
const heartbeatMs = 20_000
/** Time without activity, in milliseconds, after which the process may be released: the effects of a message take some time. */
const restAfterMs = 200
const unlimited: RenewAfter = { records: Infinity, bytes: Infinity }

/** How much an invocation may put on record before another one continues the work: whichever limit is reached first. */
export interface RenewAfter {
  /** Number of records. */
  readonly records: number
  /** Approximate bytes of JSON. */
  readonly bytes: number
}

interface Confirmation {
  readonly afterBatch: number
  readonly resolve: () => void
  readonly reject: (error: HaltingError) => void
}

/** A record that was appended and not taken yet. */
interface PendingRecord {
  /** In UTF-16 units of its JSON. */
  readonly length: number
  /** The length of the part that goes on record, in the same unit, before compression. */
  readonly onRecord: number
  /** As JSON; absent if its long texts are stored separately. */
  readonly text?: string
  readonly packing?: Packing
}

/** Returned by an invocation that has reached its limit of records, and whose work another one continues. */
const cutResult: Json = Object.freeze({ cut: true })

export function isCut(done: Json): boolean {
  return typeof done === 'object' && done !== null && 'cut' in done
}

/**
 * The records of a session on their way into the engine's journal. The loop appends them; the attempt takes them, one
 * batch at a time, and reports when a batch is on record. C1: records are taken in the order in which they were
 * appended, each once. C2: `flush` resolves when everything appended before it is on record. C3: after `break`, nothing
 * is appended or taken and every flush rejects, so that the run breaks and its callers learn of it. C4: after `leave`,
 * nothing is appended beyond an iteration without open effects. Earlier records are still taken; then the log fails. C5:
 * `cut` does the same, except that the invocation then ends, and another one continues the work. C6: the log calls `cut`
 * itself when more than its room was appended, because a loop that does not wait runs far ahead of the records.
 */
export class ClusterLog implements StepStore {
  readonly keeps = 'all'
  readonly #store: PayloadStore | undefined
  readonly #texts: SessionTexts
  readonly #room: RenewAfter
  readonly #pending: PendingRecord[] = []
  /** Sum of `onRecord` of the pending records. */
  #pendingLength = 0
  #takenLength = 0
  #taken = 0
  #appended = 0
  #onRecord = 0
  /** Until when the work only waits, by `performance.now`; null if it waits for a message only. */
  #rest: { readonly until: number | null } | undefined
  #lastActivityAt = 0
  #notes: readonly Json[] = []
  #done: Json | undefined
  #brokenBy: HaltingError | undefined
  #failed: { readonly error: unknown } | undefined
  /** `at an iteration`: leaves at the next one. `left`: nothing more will be appended. */
  #leaving: 'at an iteration' | 'left' | undefined
  /** `at an iteration`: ends at the next one. `cut`: nothing more will be appended in this invocation. */
  #cutting: 'at an iteration' | 'cut' | undefined
  /** Keys of effects that have begun and have no result. */
  readonly #openEffects = new Set<string>()
  #wake: (() => void) | undefined
  /** The first batch of an invocation is written at once, so that its format is on record before anything is done. */
  #isFirst = true
  readonly #flushes: {
    readonly upTo: number
    readonly resolve: () => void
    readonly reject: (error: HaltingError) => void
  }[] = []

  /** Batches that were taken, and how many of them are on record. */
  #batches = 0
  #storedBatches = 0
  /** How many callers currently prevent a rest. */
  #holds = 0
  #confirmations: readonly Confirmation[] = []

  /** @param texts Long texts that the engine already has; they are not sent again. `room`: what the invocation may still put on record. Default: no limit. */
  constructor(store?: PayloadStore, texts: SessionTexts = new SessionTexts(), room: RenewAfter = unlimited) {
    this.#store = store
    this.#texts = texts
    this.#room = room
    this.#cutWhenFull()
  }

  append(record: StepRecord): void {
    if (this.#brokenBy !== undefined) throw this.#brokenBy
    // The record is serialized now, because the objects in it may change.
    const text = JSON.stringify(record)
    checkSize(text, this.#store)
    const packing = packRecord(text, this.#store)
    const onRecord = packing === undefined ? text.length : this.#lengthOnRecord(packing)
    this.#pending.push({ length: text.length, onRecord, ...(packing === undefined ? { text } : { packing }) })
    this.#pendingLength += onRecord
    this.#appended++
    this.#cutWhenFull()
    this.#trackEffects(record)
    this.noteActivity()
    this.#wake?.()
  }

  #lengthOnRecord({ packed: { record, texts } }: Packing): number {
    const newTexts = texts.filter(({ sha256, inStore }) => inStore !== true && !this.#texts.has(sha256))
    return JSON.stringify(record).length + newTexts.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #cutWhenFull(): void {
    const { records, bytes } = this.#room
    if (this.#appended >= records || this.#takenLength + this.#pendingLength >= bytes) this.cut()
  }

  #trackEffects(record: StepRecord): void {
    if (record.type === 'intent') this.#openEffects.add(record.key)
    else if (record.type === 'result') this.#openEffects.delete(record.key)
    else if (record.type === 'lap' && record.lap.scope === '') this.#stopIfNoEffectIsOpen()
  }

  /** Leaves the session at its next iteration without open effects, because this process is about to end. */
  leave(): void {
    this.#leaving ??= 'at an iteration'
  }

  /** Ends the records of this invocation at the next iteration without open effects, because it has enough on record. Another invocation continues. */
  cut(): void {
    this.#cutting ??= 'at an iteration'
  }

  #stopIfNoEffectIsOpen(): void {
    if (this.#openEffects.size > 0) return
    if (this.#leaving === 'at an iteration') this.#leaving = 'left'
    else if (this.#cutting === 'at an iteration') this.#cutting = 'cut'
    if (this.#isOver) this.break()
  }

  /** Whether nothing more will be appended: later calls belong to a run that continues elsewhere. */
  get #isOver(): boolean {
    return this.#leaving === 'left' || this.#cutting === 'cut'
  }

  flush(): Promise<void> | undefined {
    if (this.#brokenBy !== undefined) return Promise.reject(this.#brokenBy)
    if (this.#onRecord === this.#appended) return undefined
    const upTo = this.#appended
    return new Promise((resolve, reject) => this.#flushes.push({ upTo, resolve, reject }))
  }

  /** Number of batches that were taken. */
  get batches(): number {
    return this.#batches
  }

  /**
   * Resolves when a batch is on record that was taken after this many. From then on, the engine regards this attempt as the one that works. Writes an empty batch if there is
   * nothing else.
   */
  confirmed(afterBatch: number): Promise<void> {
    if (this.#brokenBy !== undefined) return Promise.reject(this.#brokenBy)
    if (this.#storedBatches > afterBatch) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#confirmations = [...this.#confirmations, { afterBatch, resolve, reject }]
      this.#wake?.()
    })
  }

  /** Prevents a rest until the returned function is called: at a rest the process may release the work. */
  hold(): () => void {
    this.#holds++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#holds--
      this.#wake?.()
    }
  }

  rests(ms: number | null | undefined): void {
    this.#rest = ms === undefined ? undefined : { until: ms === null ? null : performance.now() + ms }
    this.noteActivity()
    this.#wake?.()
  }

  /** Puts a note on record that is not a record of the loop, no earlier than the records appended before it. */
  note(note: Json): void {
    // The end of the work here is not part of the session if the session continues elsewhere.
    if (this.isBroken) return
    this.#notes = [...this.#notes, note]
    this.#wake?.()
  }

  /** Called when something happens that may end a rest. */
  noteActivity(): void {
    this.#lastActivityAt = performance.now()
  }

  /** Ends the log because the work is over. `result`: the return value of the handler. */
  finish(result: Json): void {
    // The work is over here but not in the session, for example if it was released while running and closes what it opened.
    if (this.isBroken) return
    this.#done = result
    this.#wake?.()
  }

  /** Fails the log because the work cannot continue here. The engine retries the work from the records. */
  fail(error: unknown): void {
    // The loop's complaint about the end of its log is not a failure: earlier records are still taken.
    if (this.#isOver) return
    this.#failed ??= { error }
    this.break()
    this.#wake?.()
  }

  /** Whether further activity here is not part of the session. */
  get isBroken(): boolean {
    return this.#brokenBy !== undefined
  }

  /** Called when this process no longer works at the session. */
  break(): void {
    const broken = (this.#brokenBy ??= new HaltingError('driver', 'The engine goes on with this session elsewhere.'))
    for (const { reject } of [...this.#flushes.splice(0), ...this.#confirmations]) reject(broken)
    this.#confirmations = []
  }

  /** Returns the next batch as JSON when there is one, and an empty batch if nothing happens for a long time. */
  async take(): Promise<string> {
    const silentAfter = performance.now() + heartbeatMs
    while (!this.#isFirst && !this.#hasNews && !this.#mayRest && performance.now() < silentAfter)
      await this.#waitForNews(silentAfter)
    // What happens in one turn of the event loop goes into one batch: a reply, and the calls that it requests.
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (this.#failed !== undefined) throw this.#failed.error
    if (this.#leaving === 'left' && this.#pending.length === 0) throw new LeftError()
    if (this.#brokenBy !== undefined && !this.#isOver) throw this.#brokenBy
    this.#batches++
    const pending = this.#pending.splice(0, this.#recordsThatFit)
    const notes = this.#pending.length > 0 ? [] : this.#notes
    if (notes.length > 0) this.#notes = []
    const trailer = `${notes.length === 0 ? '' : `,"notes":${JSON.stringify(notes)}`}${this.#trailer()}`
    const { texts, records } = await this.#encode(pending)
    const format =
      pending.some(({ packing }) => packing !== undefined) || this.#cutting === 'cut' ? storageFormat : compatibleFormat
    this.#taken += pending.length
    this.#isFirst = false
    const batch = `{"format":${format},"atMs":${engineClock.now()}${texts},"records":[${records}]${trailer}}`
    this.#takenLength += batch.length
    for (const { onRecord } of pending) this.#pendingLength -= onRecord
    this.#cutWhenFull()
    return batch
  }

  /** Encodes records for a batch, with those of their texts that the engine does not have. */
  async #encode(pending: readonly PendingRecord[]): Promise<{ readonly texts: string; readonly records: string }> {
    const store = this.#store
    const newTexts: Record<string, StoredText> = {}
    const encode = ({ text, packing }: PendingRecord): Promise<string> =>
      packing === undefined
        ? encodeRecord(text ?? '', store)
        : encodePackedRecord(packing, store, newTexts, this.#texts)
    const records: string[] = []
    // One after another, so that the order of texts does not depend on which is faster.
    for (const each of pending) records.push(await encode(each))
    const texts = Object.keys(newTexts).length === 0 ? '' : `,"texts":${JSON.stringify(newTexts)}`
    return { texts, records: records.join(',') }
  }

  /** Number of records that fit into one batch. */
  get #recordsThatFit(): number {
    let bytes = 0
    const over = this.#pending.findIndex(({ length }) => (bytes += length * 3) > maxInlineBytes)
    return over < 0 ? this.#pending.length : Math.max(1, over)
  }

  #trailer(): string {
    if (this.#pending.length > 0) return ''
    if (this.#cutting === 'cut') return `,"done":${JSON.stringify(cutResult)}`
    if (this.#done !== undefined) return `,"done":${JSON.stringify(this.#done)}`
    if (this.#rest === undefined || !this.#mayRest) return ''
    const { until } = this.#rest
    return `,"restMs":${until === null ? null : Math.ceil(Math.max(0, until - performance.now()))}`
  }

  /** Called when the batch that was taken last is on record. */
  onBatchStored(): void {
    this.#isFirst = false
    this.#storedBatches = this.#batches
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
      this.#pending.length > 0 ||
      this.#notes.length > 0 ||
      this.#confirmations.length > 0 ||
      this.#done !== undefined ||
      this.#failed !== undefined ||
      this.#isOver
    )
  }

  get #mayRest(): boolean {
    return (
      this.#rest !== undefined &&
      this.#holds === 0 &&
      this.#appended === this.#taken &&
      performance.now() >= this.#lastActivityAt + restAfterMs
    )
  }

  async #waitForNews(atLatest: number): Promise<void> {
    const until =
      this.#rest === undefined || this.#holds > 0 ? atLatest : Math.min(atLatest, this.#lastActivityAt + restAfterMs)
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, Math.max(1, until - performance.now()))
    })
    clearTimeout(timer)
    this.#wake = undefined
  }
}
