import { HaltingError, type Json } from '@halting/core'
import type { StepStore, StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { engineClock } from '../http/engine-clock.ts'
import { LeftError } from '../worker/departure.ts'
import { checkSize, maxInlineBytes, encodePackedRecord, encodeRecord } from './batch.ts'
import { storageFormat, compatibleFormat } from './format.ts'
import { packRecord, type Packing } from './packed-record.ts'
import { SessionTexts, type StoredText } from './session-texts.ts'

/** The engine gives up on an attempt from which it hears nothing for as long as its inactivity timeout. */
const heartbeatMs = 20_000
/** So long nothing may have happened before the engine lets go of the process: what a message sets going needs a moment. */
const restAfterMs = 200
const unlimited: RenewAfter = { records: Infinity, bytes: Infinity }

/** How much an invocation has on record before another one goes on with the work: what comes first. */
export interface RenewAfter {
  /** Number of records. */
  readonly records: number
  /** Bytes of JSON, about. */
  readonly bytes: number
}

interface Confirmation {
  readonly afterBatch: number
  readonly resolve: () => void
  readonly reject: (error: HaltingError) => void
}

/** A record that was appended. */
interface PendingRecord {
  /** In UTF-16 units of its JSON. */
  readonly length: number
  /** The same of what goes on record, before anything of it is compressed. */
  readonly onRecord: number
  /** As JSON; absent where its long texts are apart. */
  readonly text?: string
  readonly packing?: Packing
}

/** What an invocation gives back whose work another one goes on with: it has as much on record as it may have. */
const cutResult: Json = Object.freeze({ cut: true })

export function isCut(done: Json): boolean {
  return typeof done === 'object' && done !== null && 'cut' in done
}

/**
 * The records of a session on their way into the engine's journal. The loop appends; the attempt takes them, one batch at a time, and says when one is on record.
 * C1: records are taken in the order in which they were appended, each once. C2: `flush` resolves when all that was appended before it is on record. C3: after
 * `break` nothing is appended or taken and every flush rejects, so that the run breaks: who waits for it to be over hears of it. C4: after `leave` nothing is appended
 * behind a lap at which no effect is under way; what was appended before it is taken, and then the log fails. C5: `cut` does the same, but for its end: the invocation is over
 * then, and another one goes on with the work. C6: so it does by itself when more than its room was appended: a loop that awaits nothing is far ahead of what is on record.
 */
export class ClusterLog implements StepStore {
  readonly keeps = 'all'
  readonly #store: PayloadStore | undefined
  readonly #texts: SessionTexts
  readonly #room: RenewAfter
  readonly #pending: PendingRecord[] = []
  /** Sum of `onRecord` of those that wait. */
  #pendingLength = 0
  #takenLength = 0
  #taken = 0
  #appended = 0
  #onRecord = 0
  /** Until when all that goes on is waiting, by `performance.now`; null where it is for a message alone. */
  #rest: { readonly until: number | null } | undefined
  #lastActivityAt = 0
  #notes: readonly Json[] = []
  #done: Json | undefined
  #brokenBy: HaltingError | undefined
  #failed: { readonly error: unknown } | undefined
  /** `at a lap`: that is to come. `left`: nothing comes any more. */
  #leaving: 'at a lap' | 'left' | undefined
  /** `at a lap`: that is to come. `cut`: nothing comes any more in this invocation. */
  #cutting: 'at a lap' | 'cut' | undefined
  /** Keys of effects that were begun and have no result. */
  readonly #openEffects = new Set<string>()
  #wake: (() => void) | undefined
  /** The first batch of an invocation goes at once: its format is on record before anything is done. */
  #isFirst = true
  readonly #flushes: {
    readonly upTo: number
    readonly resolve: () => void
    readonly reject: (error: HaltingError) => void
  }[] = []

  /** Batches that were taken, and of them those that are on record. */
  #batches = 0
  #storedBatches = 0
  /** How many have something to ask of others before the work may rest. */
  #holds = 0
  #confirmations: readonly Confirmation[] = []

  /** @param texts What the engine has of long texts: it is not given them again. `room`: what the invocation may still have; without it there is no end. */
  constructor(store?: PayloadStore, texts: SessionTexts = new SessionTexts(), room: RenewAfter = unlimited) {
    this.#store = store
    this.#texts = texts
    this.#room = room
    this.#cutWhenFull()
  }

  append(record: StepRecord): void {
    if (this.#brokenBy !== undefined) throw this.#brokenBy
    // A record is what it is now: what it names may change.
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

  /** This process is to end: the session is left at its next lap at which nothing else is under way. */
  leave(): void {
    this.#leaving ??= 'at a lap'
  }

  /** The invocation has enough on record: another one goes on from the next lap at which nothing else is under way. */
  cut(): void {
    this.#cutting ??= 'at a lap'
  }

  #stopIfNoEffectIsOpen(): void {
    if (this.#openEffects.size > 0) return
    if (this.#leaving === 'at a lap') this.#leaving = 'left'
    else if (this.#cutting === 'at a lap') this.#cutting = 'cut'
    if (this.#isOver) this.break()
  }

  /** Nothing comes any more: what is heard of the work from now on is of a run that goes on elsewhere. */
  get #isOver(): boolean {
    return this.#leaving === 'left' || this.#cutting === 'cut'
  }

  flush(): Promise<void> | undefined {
    if (this.#brokenBy !== undefined) return Promise.reject(this.#brokenBy)
    if (this.#onRecord === this.#appended) return undefined
    const upTo = this.#appended
    return new Promise((resolve, reject) => this.#flushes.push({ upTo, resolve, reject }))
  }

  /** How many batches were taken. */
  get batches(): number {
    return this.#batches
  }

  /**
   * Resolves when a batch is on record that was taken after so many: then the engine has taken this attempt for the one that works since. Where nothing else comes, that is an
   * empty one.
   */
  confirmed(afterBatch: number): Promise<void> {
    if (this.#brokenBy !== undefined) return Promise.reject(this.#brokenBy)
    if (this.#storedBatches > afterBatch) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#confirmations = [...this.#confirmations, { afterBatch, resolve, reject }]
      this.#wake?.()
    })
  }

  /** The work does not rest until what this gives is called: at a rest the process may let go of it. */
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

  /** Puts something on record that is no record of the loop: no sooner than what was appended before it. */
  note(note: Json): void {
    // How the work ends here that goes on elsewhere is nothing that happens in the session.
    if (this.isBroken) return
    this.#notes = [...this.#notes, note]
    this.#wake?.()
  }

  /** Something happens that may end a rest. */
  noteActivity(): void {
    this.#lastActivityAt = performance.now()
  }

  /** The work is over: what the handler gives back. */
  finish(result: Json): void {
    // It is over here, and not in the session: also where this process was let go of in the middle, and closes what it has.
    if (this.isBroken) return
    this.#done = result
    this.#wake?.()
  }

  /** The work cannot go on here. The engine tries again, from the record. */
  fail(error: unknown): void {
    // What the loop says to the end of its log is no failure: what was appended before is taken.
    if (this.#isOver) return
    this.#failed ??= { error }
    this.break()
    this.#wake?.()
  }

  /** What happens here from now on is no part of the session. */
  get isBroken(): boolean {
    return this.#brokenBy !== undefined
  }

  /** This process has no part in the session any more. */
  break(): void {
    const broken = (this.#brokenBy ??= new HaltingError('driver', 'The engine goes on with this session elsewhere.'))
    for (const { reject } of [...this.#flushes.splice(0), ...this.#confirmations]) reject(broken)
    this.#confirmations = []
  }

  /** The next batch, as JSON, when there is one; an empty one where nothing happens for long. */
  async take(): Promise<string> {
    const silentAfter = performance.now() + heartbeatMs
    while (!this.#isFirst && !this.#hasNews && !this.#mayRest && performance.now() < silentAfter)
      await this.#waitForNews(silentAfter)
    // What happens in one turn of the event loop goes together: a reply, and the calls that it asks for.
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

  /** Records as they go into a batch, and the texts of theirs that the engine does not have. */
  async #encode(pending: readonly PendingRecord[]): Promise<{ readonly texts: string; readonly records: string }> {
    const store = this.#store
    const newTexts: Record<string, StoredText> = {}
    const encode = ({ text, packing }: PendingRecord): Promise<string> =>
      packing === undefined
        ? encodeRecord(text ?? '', store)
        : encodePackedRecord(packing, store, newTexts, this.#texts)
    const records: string[] = []
    // One after another: texts have the same order whoever is quicker.
    for (const each of pending) records.push(await encode(each))
    const texts = Object.keys(newTexts).length === 0 ? '' : `,"texts":${JSON.stringify(newTexts)}`
    return { texts, records: records.join(',') }
  }

  /** How many records go into one batch. */
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

  /** The batch that was taken last is on record. */
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
