import type { SdkResult } from '@halting/core'
import { pendingOnRecord, type StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import type { DecodedBatch } from '../engine/batch.ts'
import { isCut } from '../engine/cluster-log.ts'
import type { StoredRecord } from '../engine/packed-record.ts'
import { textKey, type StoredText } from '../engine/session-texts.ts'
import { storeAnswer } from './answers.ts'
import { CarriedStateBuilder, type CarriedState } from './carried-run.ts'
import { belongsToConversation, type Handover } from './conversation.ts'
import { recordsKey, type StoredRecordsPage } from './stored-records.ts'
import { mailboxObject, type MailboxObject, type SeenState } from './names.ts'
import { decodeNote, type WorkNote } from './notes.ts'
import type { SessionListener } from './session-options.ts'
import { statusAfter, statusKey, type SessionStatus } from './status.ts'

/** Keys of the steps of replies, of decisions about their calls, and of permission requests. */
const questionStep = /(?:^|\/)(?:model|permission|hook:beforeToolUse|approval):/

/** What the work at a session has put on record so far, and what the object stores of it for callers. Everything follows from batches, so every attempt stores the same. */
export class WorkRecord {
  readonly #context: ObjectContext
  readonly #listener: SessionListener | undefined
  #status: SessionStatus
  /** Records of the current run that say what its questions are about. */
  #runRecords: StepRecord[] = []
  readonly #run: CarriedStateBuilder
  /** Runs that ended on record, and whose result is not on record. */
  readonly #unreportedRuns: Set<string>
  /** Records that the next run needs. */
  readonly conversation: StoredRecord[] = []
  readonly settled: Set<number>
  readonly results: SdkResult[]
  readonly refused: { readonly id: string; readonly because: string }[]
  /** Runs whose result is on record. */
  readonly reportedRuns: Set<string> = new Set()
  /** Whether watchers have to be woken at the next change. */
  #isWatched = false

  constructor(
    context: ObjectContext,
    status: SessionStatus,
    {
      listener,
      carried,
      run = new CarriedStateBuilder(),
    }: {
      readonly listener?: SessionListener | undefined
      /** What the previous invocation left. */
      readonly carried?: CarriedState | undefined
      readonly run?: CarriedStateBuilder
    } = {},
  ) {
    this.#context = context
    this.#status = status
    this.#listener = listener
    this.#run = run
    this.#unreportedRuns = new Set(carried?.untold)
    this.settled = new Set(carried?.settled)
    this.results = [...(carried?.results ?? [])]
    this.refused = [...(carried?.refused ?? [])]
  }

  /** What the invocation needs that continues from the last iteration. */
  get handover(): Handover {
    const { runId, folds, agents } = this.#run
    const { results, refused } = this
    return { runId, folds, agents, settled: [...this.settled], results, refused, untold: [...this.#unreportedRuns] }
  }

  onBatch(batch: DecodedBatch): void {
    const notes = (batch.notes ?? []).map(decodeNote)
    const answers = notes.map((note) => this.#applyNote(note))
    this.storeTexts(batch.texts ?? {})
    if (batch.records.length > 0) this.storeRecords(batch.records, batch.stored, batch.atMs)
    // At the end, settling the mailbox wakes everyone.
    const isCutHere = batch.done !== undefined && isCut(batch.done)
    if (batch.done !== undefined && !isCutHere) return
    if (answers.includes(true)) this.#wake()
    // The invocation that continues the run does not know the watchers.
    else if (isCutHere) this.#wake('watchers')
    else if (this.#isWatched && (batch.records.length > 0 || notes.some(({ type }) => type === 'at')))
      this.#wake('watchers')
  }

  /** A client watches the session. The message says what state it has seen; null if unknown. */
  onWatch(message: string): void {
    // This cast is safe: only the mailbox sends the message.
    const seen = JSON.parse(message) as SeenState | null
    const { records, live } = this.#status
    if (seen?.records === records && seen.live === live) this.#isWatched = true
    else this.#wake('watchers')
  }

  #wake(only?: 'watchers'): void {
    this.#isWatched = false
    const mailbox = this.#context.objectSendClient<MailboxObject>({ name: mailboxObject }, this.#context.key)
    if (only === undefined) mailbox.wake()
    else mailbox.wake(only)
  }

  /** Stores long texts that records refer to. */
  storeTexts(texts: Readonly<Record<string, StoredText>>): void {
    for (const [sha256, stored] of Object.entries(texts)) this.#context.set<StoredText>(textKey(sha256), stored)
  }

  /** `atMs`: when they were put on record, in milliseconds since 1970, if known. */
  storeRecords(records: readonly StepRecord[], stored: readonly StoredRecord[], atMs?: number): void {
    if (records.length === 0) return
    const first = this.#status.records
    this.conversation.push(
      ...records.flatMap((record, at) => (belongsToConversation(record) ? stored.slice(at, at + 1) : [])),
    )
    for (const [at, record] of records.entries()) this.#note(record, stored[at] ?? record)
    this.#context.set<StoredRecordsPage>(recordsKey(first), { first, records: stored })
    this.#setStatus(this.#statusAfter(records, atMs))
    this.#listener?.onStored(this.#context.key, first, records)
  }

  #note(record: StepRecord, stored: StoredRecord): void {
    this.#run.note(record, stored)
    const { runId } = this.#run
    if (record.type === 'end' && record.scope === '' && !this.reportedRuns.has(runId)) this.#unreportedRuns.add(runId)
  }

  #statusAfter(records: readonly StepRecord[], atMs: number | undefined): SessionStatus {
    for (const record of records) {
      if (record.type === 'start' && record.scope === '') this.#runRecords = []
      if ((record.type === 'result' || record.type === 'intent') && questionStep.test(record.key))
        this.#runRecords.push(record)
    }
    return statusAfter(this.#status, records, { atMs, pending: () => pendingOnRecord(this.#runRecords) })
  }

  /** Called when no worker is at work any more. */
  leave(): void {
    const { live: _live, ...status } = this.#status
    this.#setStatus(status)
  }

  #setStatus(status: SessionStatus): void {
    this.#status = status
    this.#context.set(statusKey, status)
  }

  /** Returns true if a caller may have waited for what it says. */
  #applyNote(note: WorkNote): boolean {
    switch (note.type) {
      case 'at': {
        const { live: _live, ...status } = this.#status
        this.#setStatus(note.url === null ? status : { ...status, live: note.url })
        break
      }
      case 'settled':
        for (const number of note.numbers) this.settled.add(number)
        break
      case 'result':
        this.results.push(note.result)
        this.reportedRuns.add(note.runId)
        this.#unreportedRuns.delete(note.runId)
        break
      case 'refused':
        this.refused.push({ id: note.id, because: note.because })
        break
      case 'into_run':
      case 'attempt':
        break
    }
    return storeAnswer(this.#context, note)
  }
}
