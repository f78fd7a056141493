import type { SdkResult } from '@halting/core'
import { pendingOnRecord, type StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import type { ReadBatch } from '../engine/batch.ts'
import { isCut } from '../engine/cluster-log.ts'
import type { KeptRecord } from '../engine/packed-record.ts'
import { textKey, type StoredText } from '../engine/session-texts.ts'
import { keepAnswer } from './answers.ts'
import { RunSoFar, type Carried } from './carried-run.ts'
import { isOfConversation, type Handover } from './conversation.ts'
import { recordsKey, type StoredRecords } from './kept-records.ts'
import { mailboxObject, type MailboxObject, type SeenState } from './names.ts'
import { readNote, type WorkNote } from './notes.ts'
import type { SessionListener } from './session-options.ts'
import { statusAfter, statusKey, type SessionStatus } from './status.ts'

/** Steps of replies, of what was decided of their calls, and of questions about these. */
const ofQuestions = /(?:^|\/)(?:model|permission|hook:beforeToolUse|approval):/

/**
 * What the work at a session has put on record so far, and what of it the object keeps for those who ask. Everything follows from batches, so every attempt keeps the same.
 */
export class WorkRecord {
  readonly #context: ObjectContext
  readonly #listener: SessionListener | undefined
  #status: SessionStatus
  /** Of the run that goes on, as far as it is on record here: what tells what its questions are about. */
  #ofRun: StepRecord[] = []
  readonly #run: RunSoFar
  /** Runs that ended on record, and whose result is not there. */
  readonly #untold: Set<string>
  /** What the next work has to know of it. */
  readonly said: KeptRecord[] = []
  readonly settled: Set<number>
  readonly results: SdkResult[]
  readonly refused: { readonly id: string; readonly because: string }[]
  /** Runs whose result is on record. */
  readonly told: Set<string> = new Set()
  /** Somebody has to be woken at the next change. */
  #isWatched = false

  constructor(
    context: ObjectContext,
    status: SessionStatus,
    {
      listener,
      carried,
      run = new RunSoFar(),
    }: {
      readonly listener?: SessionListener | undefined
      /** What the invocation before has left. */
      readonly carried?: Carried | undefined
      readonly run?: RunSoFar
    } = {},
  ) {
    this.#context = context
    this.#status = status
    this.#listener = listener
    this.#run = run
    this.#untold = new Set(carried?.untold)
    this.settled = new Set(carried?.settled)
    this.results = [...(carried?.results ?? [])]
    this.refused = [...(carried?.refused ?? [])]
  }

  /** What another invocation needs, which goes on from the last lap. */
  get handover(): Handover {
    const { runId, folds, agents } = this.#run
    const { results, refused } = this
    return { runId, folds, agents, settled: [...this.settled], results, refused, untold: [...this.#untold] }
  }

  onBatch(batch: ReadBatch): void {
    const notes = (batch.notes ?? []).map(readNote)
    const answers = notes.map((note) => this.#take(note))
    for (const [sha256, stored] of Object.entries(batch.texts ?? {}))
      this.#context.set<StoredText>(textKey(sha256), stored)
    if (batch.records.length > 0) this.keep(batch.records, batch.kept, batch.atMs)
    // At the end the mailbox wakes who waits as it settles.
    const isCutHere = batch.done !== undefined && isCut(batch.done)
    if (batch.done !== undefined && !isCutHere) return
    if (answers.includes(true)) this.#wake()
    // Who watches is not known to the invocation that goes on.
    else if (isCutHere) this.#wake('watchers')
    else if (this.#isWatched && (batch.records.length > 0 || notes.some(({ type }) => type === 'at')))
      this.#wake('watchers')
  }

  /** Somebody watches. The message says what they have seen; null where nobody knows what. */
  onWatch(message: string): void {
    // Only the mailbox sends it.
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

  /** `atMs`: when they were put on record, in milliseconds since 1970, where that is known. */
  keep(records: readonly StepRecord[], kept: readonly KeptRecord[], atMs?: number): void {
    if (records.length === 0) return
    const first = this.#status.records
    this.said.push(...records.flatMap((record, at) => (isOfConversation(record) ? kept.slice(at, at + 1) : [])))
    for (const [at, record] of records.entries()) this.#note(record, kept[at] ?? record)
    this.#context.set<StoredRecords>(recordsKey(first), { first, records: kept })
    this.#setStatus(this.#statusAfter(records, atMs))
    this.#listener?.onKept(this.#context.key, first, records)
  }

  #note(record: StepRecord, kept: KeptRecord): void {
    this.#run.note(record, kept)
    const { runId } = this.#run
    if (record.type === 'end' && record.scope === '' && !this.told.has(runId)) this.#untold.add(runId)
  }

  #statusAfter(records: readonly StepRecord[], atMs: number | undefined): SessionStatus {
    for (const record of records) {
      if (record.type === 'start' && record.scope === '') this.#ofRun = []
      if ((record.type === 'result' || record.type === 'intent') && ofQuestions.test(record.key))
        this.#ofRun.push(record)
    }
    return statusAfter(this.#status, records, { atMs, pending: () => pendingOnRecord(this.#ofRun) })
  }

  /** Nobody works at the session any more. */
  leave(): void {
    const { live: _live, ...status } = this.#status
    this.#setStatus(status)
  }

  #setStatus(status: SessionStatus): void {
    this.#status = status
    this.#context.set(statusKey, status)
  }

  /** True when somebody may have waited for what it tells. */
  #take(note: WorkNote): boolean {
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
        this.told.add(note.runId)
        this.#untold.delete(note.runId)
        break
      case 'refused':
        this.refused.push({ id: note.id, because: note.because })
        break
      case 'into_run':
      case 'attempt':
        break
    }
    return keepAnswer(this.#context, note)
  }
}
