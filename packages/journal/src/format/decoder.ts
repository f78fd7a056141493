import type { AssistantMessage, ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import type { ToolResultBlock } from '@halting/core/adapters'
import { RunTotals } from '@halting/core/steps'
import type { FoldedPast, Iteration, RunStart, StepRecord } from '@halting/core/steps'
import { setParentAfterRewind, isLineName, lineNamedBy, longEntry } from './line-chain.ts'
import type { LineName, NotedLine } from './line-chain.ts'
import { withChanges } from './figures.ts'
import type { FigureChanges } from './figures.ts'
import type { FoldedLines, MessageOfLine } from './folded-lines.ts'
import { OpenSegment, ShortIds, foldMark } from './fold.ts'
import type { FoldItem, FoldLine } from './fold.ts'
import { valueOfWhole } from './line.ts'
import { callIdOf, journalVersion, sameGrant, sameUsage } from './encoder.ts'
import type { Fields, JournalFormat, StepIntent, Unfolded, JournalState, StoredResult } from './encoder.ts'
import { compactionResult } from './compaction-record.ts'
import { RunSums } from './session-sums.ts'
import type { JoinedContent, Ref } from './shared-contents.ts'

/**
 * Which records to return. `conversation`: messages and endings only; not enough to resume inside a run. `open`: the
 * same for ended runs, and everything needed to resume the last one. `outcomes`: everything except intents with a
 * result, of finished turns.
 */
export type RecordSelection = 'all' | 'outcomes' | 'conversation' | 'open'

/**
 * A record as stored: a result may refer to the line of its intent instead of repeating type, key, digest and usually
 * the time.
 */
type NamedStep =
  | (StepRecord & { readonly of?: undefined })
  | {
      readonly of: number
      readonly type?: undefined
      readonly value: unknown
      readonly at?: number
      readonly durationMs: number
    }

/** Reads one of the lines that a fold covers. */
type LineAt = (at: number, length: number) => Fields

/** Active milliseconds of the session's clock, and the corresponding time in milliseconds since 1970. */
type ClockPoint = readonly [at: number, moment: number]

/** Smaller differences are ignored: a record is written shortly after it was created. */
const clockSlackMs = 1_000

/** An entry, its line, and the content of that line, if it was folded. */
interface Note extends NotedLine {
  readonly content?: unknown
}

/** A `lap` record that is assembled from folded entries. */
interface FoldedIteration {
  readonly type: 'lap'
  readonly lap: {
    readonly scope: ''
    transition: Iteration['transition']
    spent: RunStart['spent']
    readonly added: TranscriptEntry[]
  }
  folds?: FoldedPast
}

const foldStart = foldMark.slice(1)

/** Converts lines back into records. */
export class JournalDecoder implements JournalState {
  /** Format of the file, from its first line. */
  format: JournalFormat = journalVersion
  readonly #contents: Map<LineName, unknown> = new Map()
  readonly joined: JoinedContent[] = []
  readonly results: Map<string, StoredResult> = new Map()
  readonly newest: Map<string, LineName> = new Map()
  readonly #entryLines: Map<string, LineName> = new Map()
  /** Notes that are not in these maps yet, in order: most readers never use the maps. */
  #notes: Note[] = []
  readonly spent: Map<string, Fields> = new Map()
  readonly sums: RunSums = new RunSums()
  readonly #replies = new Map<LineName, unknown>()
  readonly #openIntents: Map<number, StepIntent> = new Map()
  #lastFold = 0
  /** Unparsed lines of open intents. */
  readonly #intentLines = new Map<number, string>()
  /** Intent of the current result, if it refers to one. */
  #intent: StepIntent | undefined
  readonly records: StepRecord[] = []
  /** When each run began, in milliseconds since 1970, according to its lines. */
  readonly began: number[] = []
  readonly #times: (string | number)[] = []
  /** For each run, points at which the active clock and the time diverge. */
  readonly clocks: ClockPoint[][] = []
  /** Time of the last line that has one. */
  #timestamp: string | number = ''
  lines = 1
  readonly #selection: RecordSelection
  readonly unfolded: Unfolded | undefined
  readonly #intents: PendingIntents | undefined
  /** Index of the last run's first record. */
  #began = 0
  /** The record with the folded entries of the last run, if it has any. */
  #folded: FoldedIteration | undefined

  constructor(selection: RecordSelection = 'all') {
    this.#selection = selection
    this.#intents = selection === 'outcomes' ? new PendingIntents() : undefined
    // A reader of all records does not continue the file.
    this.unfolded =
      selection === 'all' || selection === 'outcomes'
        ? undefined
        : { segment: new OpenSegment(), past: new RunTotals() }
  }

  /** When each record was stored, if known; only if all records are returned. */
  get times(): readonly string[] {
    return this.#times.map((time) => (typeof time === 'number' ? new Date(time).toISOString() : time))
  }

  get intents(): ReadonlyMap<number, StepIntent> {
    return new Map([...this.#openIntents].filter(([line]) => line > this.#lastFold))
  }

  get contents(): ReadonlyMap<LineName, unknown> {
    this.#enterNotes()
    return this.#contents
  }

  get entryLines(): ReadonlyMap<string, LineName> {
    this.#enterNotes()
    return this.#entryLines
  }

  /**
   * `bytes` are those of the line including its end, for the next fold.
   * @throws TypeError for a line that refers to a missing one.
   */
  add(line: Fields, bytes?: Buffer): void {
    if (bytes !== undefined) this.#noteUnfolded(line, bytes)
    this.#take(line, this.#selection)
  }

  /** Whether the text of a line is sufficient, so that it need not be parsed. */
  takesText(line: string): boolean {
    // Folds are only for readers that continue the file.
    const isPassed = this.unfolded === undefined && line.startsWith(foldStart)
    if (!isPassed) {
      if (this.#intents?.take(line, this.records.length) !== true) return false
      this.#intentLines.set(this.lines, line)
    }
    this.lines++
    return true
  }

  close(valueOfLine: (line: string) => Fields): void {
    // Such a line contains an intent.
    this.#intents?.into(this.records, (line) => wholeIntent(valueOfLine(line)['record'] as IntentRecord))
  }

  #take(line: Fields, selection: RecordSelection): void {
    const { message, agentId, timestamp } = line
    const isTimed = typeof timestamp === 'string' || typeof timestamp === 'number'
    if (isTimed) this.#timestamp = timestamp
    const name = typeof message === 'object' && message !== null ? this.#nameOf(line) : undefined
    if (name !== undefined) {
      this.#contents.set(name, (message as Fields)['content'])
      this.newest.set(typeof agentId === 'string' ? agentId : '', name)
    }
    const record = line['record']
    if (typeof record === 'object' && record !== null) {
      const decoded = this.#recordOf(this.#namedStep(record as NamedStep), line, name)
      this.#store(decoded, selection)
      if (isTimed && decoded.type === 'result') this.#noteClock(decoded, momentOf(timestamp))
      this.sums.note(decoded)
      this.#intents?.note(decoded)
      if (name !== undefined) this.#storeResult(decoded, name)
      if (decoded.type === 'lap' && decoded.lap.scope === '') this.results.clear()
    } else if (line['fold'] !== undefined) this.#lastFold = this.lines
    this.lines++
  }

  /** Returns the name of a line with a message: its uuid, otherwise its number. */
  #nameOf({ uuid }: Fields): LineName {
    return typeof uuid === 'string' ? uuid : this.lines
  }

  /** Completes a result that refers to the line of its intent. */
  #namedStep(record: NamedStep): StepRecord {
    this.#intent = undefined
    if (record.of !== undefined) {
      const { key, digest, at } = this.#intentAt(this.lines - record.of)
      const { value, durationMs } = record
      return { type: 'result', key, digest, value, at: record.at ?? at, durationMs }
    }
    if (record.type !== 'intent' || this.format === 1) return record
    const intent = wholeIntent(record)
    this.#openIntents.set(this.lines, intent)
    return intent
  }

  /** Completes only the key of such a result, which is all that is needed until the result is decoded. */
  #keyed(record: NamedStep): StepRecord {
    if (record.of === undefined) return record
    const { key = '', digest = null, at = 0 } = this.#openIntents.get(this.lines - record.of) ?? {}
    return { type: 'result', key, digest, value: record.value, at: record.at ?? at, durationMs: record.durationMs }
  }

  #intentAt(line: number): StepIntent {
    const text = this.#intentLines.get(line)
    const intent =
      text === undefined ? this.#openIntents.get(line) : wholeIntent(valueOfWhole(text)['record'] as IntentRecord)
    if (intent === undefined) throw new TypeError(`it refers to a step in line ${line + 1}, which has no step`)
    this.#intentLines.delete(line)
    this.#openIntents.delete(line)
    this.#intent = intent
    return intent
  }

  #store(record: StepRecord, selection: RecordSelection): void {
    const isOfMain = record.type === 'start' || record.type === 'end' ? record.scope === '' : false
    if (isOfMain && record.type === 'start') {
      this.#began = this.records.length
      this.#folded = undefined
      // The prompt precedes it.
      this.began.push(momentOf(this.#timestamp))
      this.clocks.push([])
    }
    // Storing records that nobody reads takes most of the time.
    if (selection !== 'conversation' || isOfConversation(record)) this.records.push(record)
    if (selection === 'all') this.#times.push(this.#timestamp)
    if (!isOfMain || record.type !== 'end' || this.#selection !== 'open') return
    for (const each of this.records.splice(this.#began)) if (isOfConversation(each)) this.records.push(each)
  }

  /** Notes a clock point: a killed process or a sleeping machine stops the active clock, but not the time. */
  #noteClock({ at, durationMs }: Extract<StepRecord, { readonly type: 'result' }>, moment: number): void {
    const clock = this.clocks.at(-1)
    if (clock === undefined || !Number.isFinite(moment)) return
    const now = at + durationMs
    const [lastAt, lastMoment] = clock.at(-1) ?? [now, -Infinity]
    if (Math.abs(moment - now - (lastMoment - lastAt)) > clockSlackMs) clock.push([now, moment])
  }

  #noteUnfolded(line: Fields, bytes: Buffer): void {
    if (this.unfolded === undefined) return
    const { segment, past } = this.unfolded
    if (line['fold'] !== undefined) return segment.clear()
    segment.read(
      bytes,
      line,
      typeof line['message'] === 'object' && line['message'] !== null ? this.#nameOf(line) : undefined,
    )
    // The stored record is used, before references in it are resolved.
    const record = line['record'] as NamedStep | undefined
    if (record === undefined) return
    past.note(this.#keyed(record))
    if (record.type === 'rewind' || record.type === 'stage') segment.record([], bytes.length)
    else if (record.type === 'lap' && record.lap.scope === '') segment.lap(record.lap.added)
    else if (record.type === 'start' && record.scope === '') segment.record(record.start.added, bytes.length)
    else if (record.type === 'end' && record.scope === '') segment.record(record.added, bytes.length)
  }

  /**
   * Reads lines by their fold: the messages, and the lines that begin and end runs.
   * @throws an error if the fold does not match the lines.
   */
  fold({ items, lines, transition, spent, newest, past }: FoldLine, folded: FoldedLines, lineAt: LineAt): void {
    this.#foldRun()
    const messages = folded.messagesAt(items)
    const ids = new ShortIds()
    let next = 0
    let added: TranscriptEntry[] | undefined
    for (let index = 0; index < items.length; index++) {
      const item = items[index] as FoldItem
      // Of a step only the message is needed: its cost is part of the fold's figures.
      if (item[0] === 'l') {
        if (item.length === 4) this.lines = item[3]
        this.#take(withoutStep(lineAt(item[1], item[2])), 'conversation')
        // It may start another run.
        added = undefined
        continue
      }
      added ??= this.#foldedIteration().lap.added
      if (item[0] === 'e') added.push(this.#entryAt(item))
      else if (item[0] === 'a' || item[0] === 'A') {
        const found = messages[next++]
        const id = item[0] === 'a' ? item[1] : ids.long('assistant', item[1])
        const message = this.#messageOf(id, found, item[0] === 'a' ? found?.uuid : item[2], 'assistant')
        added.push({ kind: 'assistant', id, message })
      } else {
        const first = next
        next += (item.length - 2) / (item[0] === 'r' ? 2 : 3)
        const id = item[0] === 'r' ? item[1] : ids.long('tool_results', item[1])
        const message = this.#resultsOf(id, item, messages, first, next)
        added.push({ kind: 'user', id, message, origin: 'tool_results' })
      }
    }
    const { lap } = Object.assign(this.#foldedIteration(), { folds: past })
    lap.transition = transition
    lap.spent = spent[''] as RunStart['spent']
    this.#openIntents.clear()
    this.spent.clear()
    for (const [scope, figures] of Object.entries(spent)) this.spent.set(scope, figures as Fields)
    if (newest !== null) this.newest.set('', newest)
    this.results.clear()
    this.unfolded?.past.continueFrom(past)
    this.unfolded?.segment.clear()
    this.lines = lines
  }

  /** Reduces the open run to its start and one record with all entries. */
  #foldRun(): void {
    const run = this.records.slice(this.#began)
    if (run.at(-1) === this.#folded || run.some(({ type }) => type === 'end')) return
    this.records.length = this.#began
    const [start] = run
    if (start === undefined) return
    this.records.push(start, ...run.filter(({ type }) => type === 'stage'))
    const iterations = run.flatMap((record) => (record.type === 'lap' && record.lap.scope === '' ? [record.lap] : []))
    const folded = this.#folded
    if (folded !== undefined) this.records.push(folded)
    const { added } = this.#foldedIteration().lap
    for (const lap of folded === undefined ? iterations : iterations.slice(1))
      for (const entry of lap.added) added.push(entry)
  }

  #foldedIteration(): FoldedIteration {
    if (this.#folded !== undefined) return this.#folded
    const start = this.records[this.#began]
    if (start?.type !== 'start') throw new TypeError('it has an iteration before the start of its run')
    // The figures are those of the fold if the run continues. An ended run has them in its end.
    const { spent } = start.start
    this.#folded = { type: 'lap', lap: { scope: '', transition: 'next_turn', spent, added: [] } }
    this.records.push(this.#folded)
    return this.#folded
  }

  #entryAt([, entry]: Extract<FoldItem, readonly ['e', unknown]>): TranscriptEntry {
    // The checksum proves that the journal wrote it.
    const stored = entry as TranscriptEntry
    this.#putEntries([stored])
    return stored
  }

  /** Returns the message of an item, and notes it. @throws TypeError for a message of another item. */
  #messageOf<Role extends ModelMessage['role']>(
    id: string,
    found: MessageOfLine | undefined,
    uuid: LineName | undefined,
    role: Role,
  ): MessageOf<Role> {
    if (uuid === undefined || found?.message?.role !== role) throw new TypeError('it refers to another place')
    const { message } = found
    // A later compaction may refer to it.
    this.#notes.push({ id, uuid, content: message.content })
    // The checksum proves that the journal wrote all of it.
    return message as unknown as MessageOf<Role>
  }

  /** Returns the results of a turn, each from its line. */
  #resultsOf(
    id: string,
    [kind, , ...places]: Extract<FoldItem, readonly ['r' | 'R', ...unknown[]]>,
    messages: readonly MessageOfLine[],
    from: number,
    to: number,
  ): MessageOf<'user'> {
    const nameAt = (index: number): LineName | undefined =>
      kind === 'r' ? messages[index]?.uuid : places[(index - from) * 3]
    if (to === from + 1) return this.#messageOf(id, messages[from], nameAt(from), 'user')
    const lines: LineName[] = []
    const content: ContentBlock[] = []
    for (let index = from; index < to; index++) {
      const name = nameAt(index)
      const message = this.#messageOf(id, messages[index], name, 'user')
      for (const block of message.content as readonly ContentBlock[]) content.push(block)
      // It was checked.
      lines.push(name as LineName)
    }
    this.joined.push({ content, lines })
    return { role: 'user', content }
  }

  /** Moves notes into the maps when they are needed. */
  #enterNotes(): void {
    for (const { id, uuid, content } of this.#notes) {
      this.#entryLines.set(id, uuid)
      if (content !== undefined) this.#contents.set(uuid, content)
    }
    this.#notes = []
  }

  #storeResult(record: StepRecord, uuid: LineName): void {
    const callId = record.type === 'result' ? callIdOf(record.key) : undefined
    if (record.type !== 'result' || callId === undefined) return
    const { content, isError } = record.value as Fields
    this.results.set(callId, { uuid, content, isError: isError === true })
  }

  /** Resolves the references in a record. The record was just parsed, so it is modified in place. */
  #recordOf(record: StepRecord, line: Fields, name: LineName | undefined): StepRecord {
    switch (record.type) {
      case 'start':
        this.#putEntries(record.start.added)
        return record
      case 'lap':
        this.#putEntries(record.lap.added)
        this.#putSpent(record.lap, line)
        return record
      case 'end':
        this.spent.delete(record.scope)
        this.#putEntries(record.added)
        return record
      case 'result':
        for (const message of compactionResult(record)?.messages ?? []) this.#putContent(message)
        this.#putMessage(record.value as { [field: string]: unknown }, line, name)
        return record
      case 'rewind':
        setParentAfterRewind(this.newest, (id) => this.entryLines.get(id), record.after)
        return record
      case 'intent':
      case 'control':
      case 'stage':
        return record
    }
  }

  /** Restores the reply, or the content of the result, from the message of the line. */
  #putMessage(value: { [field: string]: unknown }, line: Fields, name: LineName | undefined): void {
    const { type, message, toolUseResult: details, same } = line
    if (name === undefined) return
    if (type === 'assistant') {
      // In the first format every reply has it, for other readers.
      const { type: _type, ...more } = message as Fields
      const reply = typeof line['uuid'] === 'string' ? more : (message as Fields)
      this.#replies.set(name, reply)
      if (typeof same === 'number') this.#putSame(value, same, reply)
      value['message'] = reply
    } else if (type === 'user') {
      const [block] = (message as { readonly content: readonly ToolResultBlock[] }).content
      // A result refers to its intent by distance only: reordered lines would assign it to another call.
      if (this.#intent !== undefined && callIdOf(this.#intent.key) !== block?.tool_use_id)
        throw new TypeError('it has the result of another call than its step')
      value['content'] = block?.content
      if (details !== undefined) value['details'] = details
    }
  }

  /** Restores values that equal those of the intent or the message. */
  #putSame(value: { [field: string]: unknown }, same: number, { usage }: Fields): void {
    if ((same & sameGrant) !== 0) {
      if (this.#intent === undefined) throw new TypeError('it refers to an intent, but names no intent')
      value['grant'] = this.#intent.intent
    }
    if ((same & sameUsage) !== 0) value['charge'] = { ...(value['charge'] as Fields), usage }
  }

  #putSpent(lap: { readonly scope: string; spent?: unknown }, { changed, delta, whole }: Fields): void {
    const isInPlace = this.#selection === 'conversation'
    if (delta !== undefined)
      lap.spent = withChanges(this.#spentBefore(lap.scope), { delta, whole } as FigureChanges, isInPlace)
    else if (changed !== undefined) {
      const before = this.#spentBefore(lap.scope)
      // All fields exist. Setting them is several times faster than spreading both objects.
      const spent: { [field: string]: unknown } = isInPlace ? before : { ...before }
      const fields = changed as Fields
      for (const field of Object.keys(fields)) spent[field] = fields[field]
      lap.spent = spent
    }
    this.spent.set(lap.scope, lap.spent as Fields)
  }

  #spentBefore(scope: string): Fields {
    const before = this.spent.get(scope)
    if (before === undefined) throw new TypeError('it has changes of an iteration that is missing')
    return before
  }

  #putEntries(entries: readonly TranscriptEntry[]): void {
    for (const [index, each] of entries.entries()) {
      const entry = longEntry(each) as TranscriptEntry
      // It was just parsed, so it can be modified.
      if (entry !== each) (entries as TranscriptEntry[])[index] = entry
      const uuid = lineNamedBy(entry)
      if (uuid !== undefined) this.#notes.push({ id: entry.id, uuid })
      if (entry.kind === 'compact_boundary') for (const message of entry.messages) this.#putContent(message)
      if (entry.kind !== 'user' && entry.kind !== 'assistant') continue
      const holder = entry as { message: unknown }
      if (isLineName(holder.message)) holder.message = this.#reply(holder.message)
      else if (Array.isArray(holder.message))
        holder.message = { role: 'user', content: this.#joinedContent(holder.message as readonly LineName[]) }
      else this.#putContent(entry.message)
    }
  }

  #putContent(message: { readonly content: unknown }): void {
    const { content } = message
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return
    const holder = message as { content: unknown }
    if ('ref' in content) holder.content = this.#content(content.ref as LineName)
    else if ('blocks' in content && Array.isArray(content.blocks))
      holder.content = this.#joinedContent((content.blocks as readonly Ref[]).map(({ ref }) => ref))
  }

  #joinedContent(lines: readonly LineName[]): readonly ContentBlock[] {
    const [first = ''] = lines
    // Most have one result, whose content is stored by its line.
    if (lines.length === 1) return this.#content(first) as readonly ContentBlock[]
    const content = lines.flatMap((uuid) => this.#content(uuid) as readonly ContentBlock[])
    this.joined.push({ content, lines })
    return content
  }

  #reply(uuid: LineName): unknown {
    const reply = this.#replies.get(uuid)
    if (reply === undefined) throw new TypeError(`it refers to line ${uuid}, which is missing`)
    return reply
  }

  #content(uuid: LineName): unknown {
    if (!this.#contents.has(uuid)) this.#enterNotes()
    if (!this.#contents.has(uuid)) throw new TypeError(`it refers to line ${uuid}, which is missing`)
    return this.#contents.get(uuid)
  }
}

type MessageOf<Role> = Role extends 'assistant' ? AssistantMessage : Extract<ModelMessage, { readonly role: 'user' }>

/** Returns milliseconds since 1970; NaN for an invalid time. */
function momentOf(timestamp: string | number): number {
  return typeof timestamp === 'number' ? timestamp : Date.parse(timestamp)
}

type IntentRecord = Extract<StepRecord, { readonly type: 'intent' }>

/** Restores an intent of null, which later formats omit. */
function wholeIntent(record: IntentRecord): IntentRecord {
  if (Object.hasOwn(record, 'intent')) return record
  const { type, key, digest, at } = record
  return { type, key, digest, intent: null, at }
}

/** Reduces a folded line to its message: its intent is not in the lines that are read, and nothing else is needed. */
function withoutStep(line: Fields): Fields {
  const record = line['record'] as NamedStep | undefined
  if (record?.of === undefined) return line
  const { timestamp: _timestamp, same: _same, ...message } = line
  const { value, durationMs } = record
  return { ...message, record: { type: 'result', key: '', digest: null, value, at: 0, durationMs } }
}

function isOfConversation(record: StepRecord): boolean {
  if (record.type === 'lap') return record.lap.scope === ''
  return record.type === 'start' || record.type === 'end' || record.type === 'rewind' || record.type === 'stage'
}

/** Beginnings of intent lines, up to the key, in the current and the first format. */
const intentStarts = [
  '{"record":{"type":"intent","key":"',
  '{"type":"halting","record":{"type":"intent","key":"',
] as const

/**
 * Unparsed intents of the current turn. After the turn, an intent with a result has no further information. Not parsing
 * it saves a quarter of the time of reading a session.
 */
class PendingIntents {
  /** Lines that are not parsed, and how many records precede each. */
  readonly #pending = new Map<string, { readonly line: string; readonly at: number; hasResult: boolean }>()

  /** Returns false for any other line. `at` is the number of preceding records. */
  take(line: string, at: number): boolean {
    const intentStart = intentStarts.find((start) => line.startsWith(start))
    if (intentStart === undefined) return false
    const key = line.slice(intentStart.length, line.indexOf('"', intentStart.length))
    // An escaped key cannot be compared as text.
    if (key.includes('\\')) return false
    this.#pending.delete(key)
    this.#pending.set(key, { line, at, hasResult: false })
    return true
  }

  note(record: StepRecord): void {
    if (record.type === 'result') {
      const pending = this.#pending.get(record.key)
      if (pending !== undefined) pending.hasResult = true
      return
    }
    const ends = (record.type === 'lap' && record.lap.scope === '') || (record.type === 'end' && record.scope === '')
    if (!ends || this.#pending.size === 0) return
    for (const [key, { hasResult }] of this.#pending) if (hasResult) this.#pending.delete(key)
  }

  /** Inserts the remaining intents among the records, in their places. */
  into(records: StepRecord[], recordOf: (line: string) => StepRecord): void {
    for (const { line, at } of [...this.#pending.values()].toReversed()) records.splice(at, 0, recordOf(line))
    this.#pending.clear()
  }
}
