import { isToolResult, uuidOf, type ToolResultBlock } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import { RunTotals, type StepRecord } from '@halting/core/steps'
import { compactionResult } from './compaction-record.ts'
import { setParentAfterRewind, lineNamedBy, shortReply, shortResults, type LineName } from './line-chain.ts'
import { changedSince, changesSince, isSameJson } from './figures.ts'
import { OpenSegment, foldedBytes, messagePlace, replyStart, startOf, type FoldLine } from './fold.ts'
import { lineOf, lineOfOpenJson } from './line.ts'
import { mayHavePayloads, withoutPayloads, type Payload } from './payloads.ts'
import { RunSums } from './session-sums.ts'
import { ContentPlaces, type ReadContents } from './shared-contents.ts'

/**
 * Version of the format; readers reject later ones. In the first format each message has the fields that other programs
 * expect. Later formats omit what the first line, the line number or an earlier line implies.
 */
export const journalVersion = 2

/**
 * Flags in `same` of a reply: its grant equals that of the intent, and its charged usage equals that of the message.
 */
export const sameGrant = 1
export const sameUsage = 2

/** Formats that can be written: a file continues in its original format. */
export type JournalFormat = 1 | 2

/** Fields for other tools in every line. */
export interface JournalPlace {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Version of the program. */
  readonly version: string
  /** Title of the session; undefined if it has none. */
  readonly title?: string
}

export type Fields = { readonly [field: string]: unknown }

/** A tool result that is in a separate line. */
export interface StoredResult {
  readonly uuid: LineName
  readonly content: unknown
  readonly isError: boolean
}

/** The part of a file's state on which its next lines depend. */
export interface JournalState extends ReadContents {
  /** Format of the file, in which it continues. */
  readonly format: JournalFormat
  /** Number of lines. */
  readonly lines: number
  /** Results since the last iteration, by call id. */
  readonly results: ReadonlyMap<string, StoredResult>
  /** The newest message of each agent; '' is the main loop. */
  readonly newest: ReadonlyMap<string, LineName>
  /** Intents since the last fold without a result, by line. */
  readonly intents: ReadonlyMap<number, StepIntent>
  /** Figures at the newest iteration of each running agent. */
  readonly spent: ReadonlyMap<string, Fields>
  /** The last line of each conversation entry. */
  readonly entryLines: ReadonlyMap<string, LineName>
  /** Sums over its runs. */
  readonly sums: RunSums
  /**
   * State of the lines since the last fold and of the open run, which the next fold includes; undefined if the reader
   * did not track it.
   */
  readonly unfolded?: Unfolded | undefined
}

/** What a result omits because the intent of its step has it. */
export type StepIntent = Pick<Extract<StepRecord, { readonly type: 'intent' }>, 'key' | 'digest' | 'intent' | 'at'>

/** The lines since the last fold, and the state of the open run. */
export interface Unfolded {
  readonly segment: OpenSegment
  readonly past: RunTotals
}

const noPayloads: readonly Payload[] = []

/** Beginnings of main loop lines with a message. */
const starts = { user: startOf({ type: 'user' }), assistant: startOf({ type: 'assistant' }) }

/**
 * Converts records into lines. A message is written once, in a format that other readers of such sessions know. The
 * rest of the record (its step, its iteration) is in the same line or refers to it.
 *
 * Most sessions end before V8 has compiled much of this code, and compiling costs as much as running it. So each record
 * becomes one object for `JSON.stringify`, and fields are omitted by setting them to `undefined`: deleting or
 * destructuring costs several times as much.
 */
export class JournalEncoder {
  readonly #place: JournalPlace
  readonly #places: ContentPlaces
  /** Lines of replies, by message object: an entry with the same object only refers to the line. */
  readonly #replies = new WeakMap<object, LineName>()
  /** Figures at the newest iteration of each agent: the next one stores only changes. */
  readonly #spent: Map<string, Fields>
  /** Results of the current turn, by call id. */
  readonly #results: Map<string, StoredResult>
  /** The newest message of each agent, which is the parent of the next one. */
  readonly #newest: Map<string, LineName>
  /** Entries written here, and their lines: needed after a rewind, together with those already in the file. */
  readonly #entryIds: string[] = []
  readonly #entryLines: LineName[] = []
  readonly #before: Pick<JournalState, 'entryLines'> | undefined
  readonly #format: JournalFormat
  /** Intents since the last fold without a result, by step key: the result refers to the line. */
  readonly #intents: Map<string, NamedIntent> = new Map()
  readonly #sums: RunSums
  readonly #segment: OpenSegment
  /**
   * State of the open run; undefined if the reader did not track it, so that no fold is written before the next run.
   */
  #past: RunTotals | undefined
  readonly #foldedBytes: number
  #count: number
  /** JSON of lines before long texts are moved to files, if requested. */
  #whole: string[] | undefined
  /** Size of the last line. */
  #lastBytes = 0
  #payloads: readonly Payload[] = noPayloads
  /** When the current record was stored, if not now. */
  #timestamp: string | undefined

  /** Continues a file, if there is one, without writing its content again. */
  constructor(
    place: JournalPlace,
    file?: JournalState,
    foldAfterBytes: number = foldedBytes,
    format: JournalFormat = file?.format ?? journalVersion,
  ) {
    this.#place = place
    this.#format = format
    for (const [line, intent] of file?.intents ?? []) this.#intents.set(intent.key, { record: intent, line })
    this.#foldedBytes = foldAfterBytes
    this.#segment = file?.unfolded?.segment ?? new OpenSegment()
    this.#past = file?.unfolded?.past
    this.#count = file?.lines ?? 0
    this.#results = new Map(file?.results)
    this.#newest = new Map(file?.newest)
    this.#spent = new Map(file?.spent)
    this.#before = file
    this.#sums = new RunSums(file?.sums)
    this.#places = new ContentPlaces(file)
  }

  /** Returns the first line, with the time and other fields of a session that was recorded elsewhere. */
  head(timestamp: string = new Date().toISOString(), more: Fields = {}): string {
    this.#count++
    return lineOf({ type: 'halting', format: this.#format, ...this.#place, timestamp, ...more })
  }

  /**
   * Returns the lines of a record, and the long texts for separate files, which must be written first. `timestamp` is
   * when it was stored (default: now).
   */
  linesOf(record: StepRecord, timestamp?: string): { readonly lines: string; readonly payloads: readonly Payload[] } {
    this.#payloads = noPayloads
    this.#timestamp = timestamp
    this.#sums.note(record)
    if (record.type === 'start' && record.scope === '') this.#past = new RunTotals()
    this.#past?.note(record)
    const lines = this.#linesOf(record)
    return { lines, payloads: this.#payloads }
  }

  /** Returns the JSON of a record's lines, with long texts in place. */
  wholeLinesOf(record: StepRecord, timestamp: string | undefined): readonly string[] {
    this.#whole = []
    const { lines } = this.linesOf(record, timestamp)
    return lines === '' ? [] : this.#whole
  }

  #linesOf(record: StepRecord): string {
    switch (record.type) {
      case 'start': {
        const { added, ...start } = record.start
        const refs: unknown[] = []
        const lines = this.#linesOfEntries(added, refs)
        return lines + this.#endingLine(record.scope, { record: { ...record, start: { ...start, added: refs } } }, refs)
      }
      case 'lap':
        return this.#lap(record)
      case 'end': {
        const { added, ...end } = record
        this.#spent.delete(record.scope)
        const refs: unknown[] = []
        const lines = this.#linesOfEntries(added, refs)
        // Lists of sessions read only this line.
        const own = record.scope === '' ? { session: this.#sums.sums() } : {}
        return lines + this.#endingLine(record.scope, { record: { ...end, added: refs }, ...own }, refs)
      }
      case 'result':
        return this.#result(record)
      case 'stage': {
        // Lists of sessions read only the last line; after an unfinished stage they must read everything.
        const { endedAs } = this.#sums
        const isLast = record.stage.phase === 'ended' && endedAs !== undefined
        const own = isLast ? { session: this.#sums.sums(), ended: endedAs } : {}
        return this.#ownLine(this.#recordLine({ record, ...own }), [])
      }
      case 'rewind':
        // The next message follows the one to which the conversation was rewound (R-JOUR-9).
        setParentAfterRewind(this.#newest, (id) => this.#lineOfEntry(id), record.after)
        return this.#ownLine(this.#recordLine({ record }), [])
      case 'intent':
        if (this.#format === 1) return this.#line(this.#recordLine({ record }))
        this.#intents.set(record.key, { record, line: this.#count })
        return this.#line({ record: record.intent === null ? withoutIntent(record) : record })
      case 'control':
        return this.#line(this.#recordLine({ record }))
    }
  }

  /** Creates a line without a message. */
  #recordLine(fields: Fields): Fields {
    return this.#format === 1 ? { type: 'halting', ...fields } : fields
  }

  #lap(record: LapRecord): string {
    const { lap } = record
    const changes = this.#changes(lap.scope, lap.spent)
    const refs: unknown[] = []
    const lines = this.#linesOfEntries(lap.added, refs)
    const spent = changes === undefined ? lap.spent : undefined
    const line = this.#line(
      this.#recordLine({ record: { ...record, lap: { ...lap, spent, added: refs } }, ...changes }),
    )
    if (lap.scope !== '') return lines + line
    this.#segment.lap(refs)
    this.#results.clear()
    // Resuming inside a background agent requires its earlier records.
    return lap.spent.openAgents === undefined ? lines + line + this.#fold(lap.transition) : lines + line
  }

  /** Returns the changed figures; undefined if the line has all of them. */
  #changes(scope: string, spent: object): object | undefined {
    const figures = spent as Fields
    const before = this.#spent.get(scope)
    this.#spent.set(scope, figures)
    if (before === undefined) return undefined
    if (this.#format > 1) return changesSince(before, figures)
    const changed = changedSince(before, figures)
    return changed === undefined ? undefined : { changed }
  }

  #lineOfEntry(id: string): LineName | undefined {
    return this.#entryLines[this.#entryIds.lastIndexOf(id)] ?? this.#before?.entryLines.get(id)
  }

  /** Model replies and tool results are messages. */
  #result(record: ResultRecord): string {
    const value = record.value as Fields | null
    const intent = this.#intentOf(record)
    if (typeof value !== 'object' || value === null)
      return this.#line(this.#recordLine({ record: recordFor(record, value, intent, this.#count) }))
    if (value['kind'] === 'answered' && isMessage(value['message'])) return this.#reply(record, value, intent)
    const compacted = compactionResult(record)
    if (compacted !== undefined) {
      const result = { ...compacted, messages: compacted.messages.map((message) => this.#messageRef(message)) }
      return this.#line(this.#recordLine({ record: recordFor(record, { ...value, result }, intent, this.#count) }))
    }
    const callId = callIdOf(record.key)
    if (callId === undefined || !('content' in value) || typeof value['status'] !== 'string')
      return this.#line(this.#recordLine({ record: recordFor(record, value, intent, this.#count) }))
    const { content, details } = value
    const isError = value['isError'] === true
    const name = this.#name(record.key)
    this.#results.set(callId, { uuid: name, content, isError })
    const block = { type: 'tool_result', tool_use_id: callId, content, is_error: isError ? true : undefined }
    const rest = { ...value, content: undefined, details: undefined }
    const stored = recordFor(record, rest, intent, this.#count)
    const own = details === undefined ? { record: stored } : { toolUseResult: details, record: stored }
    return this.#message('user', name, record.key, JSON.stringify({ role: 'user', content: [block] }), own)
  }

  /** Returns the intent of a result, for only one result. */
  #intentOf({ key, digest }: ResultRecord): NamedIntent | undefined {
    const intent = this.#intents.get(key)
    if (intent?.record.digest !== digest) return undefined
    this.#intents.delete(key)
    return intent
  }

  /** Writes a reply without what its intent and its message already say. */
  #reply(record: ResultRecord, value: Fields, intent: NamedIntent | undefined): string {
    const message = value['message'] as { readonly content: readonly ContentBlock[]; readonly usage?: unknown }
    const name = this.#name(record.key)
    this.#places.set(message.content, name)
    this.#replies.set(message, name)
    const rest: { [field: string]: unknown } = { ...value, message: undefined }
    let same = 0
    if (intent !== undefined && isSameObject(value['grant'], intent.record.intent)) {
      rest['grant'] = undefined
      same += sameGrant
    }
    const charge = value['charge'] as Fields | null | undefined
    if (this.#format > 1 && typeof charge === 'object' && isSameObject(charge?.['usage'], message.usage)) {
      rest['charge'] = { ...charge, usage: undefined }
      same += sameUsage
    }
    const stored = recordFor(record, rest, intent, this.#count)
    const own = same > 0 ? { record: stored, same } : { record: stored }
    return this.#message('assistant', name, record.key, this.#replyJson(message), own)
  }

  #replyJson(message: object): string {
    const json = JSON.stringify(message)
    return this.#format > 1 ? json : `${replyStart}${json.slice(1)}`
  }

  /** Returns lines for entries that are in no line yet. References to the entries are added to `refs`. */
  #linesOfEntries(added: readonly TranscriptEntry[], refs: unknown[]): string {
    let lines = ''
    for (const entry of added) {
      lines += this.#entry(entry, refs)
      const name = lineNamedBy(refs.at(-1))
      if (name === undefined) continue
      this.#entryIds.push(entry.id)
      this.#entryLines.push(name)
    }
    return lines
  }

  /** Returns the line of a start or an end; readers of folds read that of the main loop unchanged. */
  #endingLine(scope: string, fields: Fields, refs: readonly unknown[]): string {
    const line = this.#recordLine(fields)
    return scope === '' ? this.#ownLine(line, refs) : this.#line(line)
  }

  /** Returns a line that readers of folds read unchanged. */
  #ownLine(line: Fields, refs: readonly unknown[]): string {
    const text = this.#line(line)
    this.#segment.record(refs, this.#lastBytes)
    return text
  }

  /** Returns a fold after enough lines. */
  #fold(transition: FoldLine['transition']): string {
    if (this.#segment.bytes < this.#foldedBytes) return ''
    if (this.#past === undefined) {
      this.#segment.clear()
      return ''
    }
    const fold = this.#segment.close({
      lines: this.#count + 1,
      transition,
      spent: Object.fromEntries(this.#spent),
      newest: this.#newest.get('') ?? null,
      past: this.#past.folded(),
    })
    if (fold === undefined) return ''
    this.#intents.clear()
    this.#count++
    return lineOf({ type: 'halting', fold })
  }

  #entry(entry: TranscriptEntry, refs: unknown[]): string {
    switch (entry.kind) {
      case 'assistant': {
        const reply = this.#replies.get(entry.message)
        if (reply === undefined) return this.#messageEntry(entry, refs)
        refs.push(shortReply(entry, reply))
        return ''
      }
      case 'user': {
        const { content } = entry.message
        if (entry.origin === 'tool_results' && typeof content !== 'string')
          return this.#toolResults(entry, content, refs)
        return this.#messageEntry(entry, refs)
      }
      case 'compact_boundary': {
        const messages = entry.messages.map((message) => this.#messageRef(message))
        const { trigger, preTokens } = entry
        refs.push({ ...entry, messages })
        return this.#line({
          type: 'system',
          subtype: 'compact_boundary',
          content: 'Conversation compacted',
          compactMetadata: { trigger: trigger === 'manual' ? 'manual' : 'auto', preTokens },
        })
      }
      case 'attachment':
      case 'results_cleared':
      case 'collapse_staged':
      case 'media_removed':
        refs.push(entry)
        return ''
    }
  }

  /** Returns the line of an entry, unless its content is already in one. */
  #messageEntry(entry: MessageEntry, refs: unknown[]): string {
    const { content } = entry.message
    const known = this.#places.placeOf(content)
    if (known !== undefined) {
      refs.push(withContent(entry, known))
      return ''
    }
    const name = this.#name(entry.id)
    this.#places.set(content, name)
    refs.push(withContent(entry, { ref: name }))
    const json = entry.kind === 'user' ? JSON.stringify(entry.message) : this.#replyJson(entry.message)
    return this.#message(entry.kind, name, entry.id, json)
  }

  /** Results are in the lines of their steps, unless a hook or the loop replaced them. */
  #toolResults(
    entry: Extract<TranscriptEntry, { readonly kind: 'user' }>,
    content: readonly ContentBlock[],
    refs: unknown[],
  ): string {
    let lines = ''
    const names: LineName[] = []
    for (const [index, block] of content.entries()) {
      const known = isToolResult(block) ? this.#results.get(block.tool_use_id) : undefined
      if (known !== undefined && isSameResult(block as ToolResultBlock, known)) {
        names.push(known.uuid)
        continue
      }
      const id = `${entry.id}#${index}`
      const name = this.#name(id)
      lines += this.#message('user', name, id, JSON.stringify({ role: 'user', content: [block] }))
      names.push(name)
    }
    this.#places.set(content, names)
    const isPlain = this.#format > 1 && Object.keys(entry.message).length === 2
    refs.push(isPlain ? shortResults(entry, names) : withContent(entry, { blocks: names.map((ref) => ({ ref })) }))
    return lines
  }

  /** Returns a message that a compaction preserved, as a reference to its line if it is unchanged. */
  #messageRef(message: ModelMessage): unknown {
    const { content } = message
    const known = this.#places.placeOf(content)
    return known === undefined ? message : { ...message, content: known }
  }

  /** `json` is the message, and `of` is the key or id that names the agent. */
  #message(type: 'user' | 'assistant', name: LineName, of: string, json: string, own?: Fields): string {
    const scope = of.includes('/agent:') ? scopeOf(of) : ''
    const isSidechain = scope.includes('/agent:')
    // The main loop has one chain over all runs, and each subagent has its own.
    const chain = isSidechain ? scope : ''
    const parentUuid = this.#newest.get(chain) ?? null
    this.#newest.set(chain, name)
    if (this.#format > 1) {
      const start = isSidechain ? startOf({ agentId: scope, type }) : starts[type]
      const text = `${start}${json},"timestamp":${this.#moment()}`
      const last = own === undefined ? text : `${text},${JSON.stringify(own).slice(1, -1)}`
      return this.#put(last, name, messagePlace(start, json, type))
    }
    const { cwd, sessionId, version } = this.#place
    const timestamp = this.#timestamp ?? new Date().toISOString()
    const start = startOf({ parentUuid, isSidechain, agentId: isSidechain ? scope : undefined, type })
    const last = JSON.stringify({ uuid: name, timestamp, userType: 'external', cwd, sessionId, version, ...own })
    return this.#put(`${start}${json},${last.slice(1, -1)}`, name, messagePlace(start, json, type))
  }

  /**
   * Returns when the current record was stored, as JSON: milliseconds since 1970, or a text if that is more precise.
   */
  #moment(): string {
    if (this.#timestamp === undefined) return String(Date.now())
    const moment = Date.parse(this.#timestamp)
    const isAll = Number.isFinite(moment) && new Date(moment).toISOString() === this.#timestamp
    return isAll ? String(moment) : JSON.stringify(this.#timestamp)
  }

  /** Returns the name of the next line. */
  #name(of: string): LineName {
    return this.#format > 1 ? this.#count : uuidOf(`${this.#place.sessionId}/${of}/${this.#count}`)
  }

  #line(value: Fields): string {
    return this.#put(JSON.stringify(value).slice(0, -1))
  }

  /** Writes the JSON of an object without its closing brace. */
  #put(open: string, name?: LineName, message?: ReturnType<typeof messagePlace>): string {
    this.#count++
    this.#whole?.push(`${open}}`)
    if (mayHavePayloads(open)) return this.#putShortened(open, name, message)
    const line = lineOfOpenJson(open)
    this.#lastBytes = Buffer.byteLength(line)
    this.#segment.wrote(line, this.#lastBytes, name, message)
    return line
  }

  #putShortened(
    open: string,
    name: LineName | undefined,
    message: ReturnType<typeof messagePlace> | undefined,
  ): string {
    const { json, payloads } = withoutPayloads(`${open}}`)
    this.#payloads = [...this.#payloads, ...payloads]
    const line = lineOfOpenJson(json.slice(0, -1))
    this.#lastBytes = Buffer.byteLength(line)
    this.#segment.wrote(line, this.#lastBytes, name, payloads.length === 0 ? message : undefined)
    return line
  }
}

type ResultRecord = Extract<StepRecord, { readonly type: 'result' }>

type LapRecord = Extract<StepRecord, { readonly type: 'lap' }>

type MessageEntry = Extract<TranscriptEntry, { readonly kind: 'user' | 'assistant' }>

/**
 * Returns a result with this value for line `count`. If the intent of its step has a line, the result refers to it by
 * distance instead of repeating name, digest and usually the start time.
 */
function recordFor(record: ResultRecord, value: unknown, intent: NamedIntent | undefined, count: number): Fields {
  if (intent === undefined) return { ...record, value }
  const { at, durationMs } = record
  const of = count - intent.line
  return at === intent.record.at ? { of, value, durationMs } : { of, value, at, durationMs }
}

/** An intent, and its line number. */
interface NamedIntent {
  readonly record: StepIntent
  readonly line: number
}

/** Omits the null content of an intent. */
function withoutIntent({ type, key, digest, at }: Extract<StepRecord, { readonly type: 'intent' }>): Fields {
  return { type, key, digest, at }
}

function isSameObject(value: unknown, other: unknown): boolean {
  return typeof value === 'object' && value !== null && isSameJson(value, other)
}

/** Returns the run and agent of a key or an id. */
function scopeOf(key: string): string {
  const agents = /^[^/]*\/(?:agent:[^/]*\/)*/.exec(key)?.[0] ?? ''
  return agents
}

export function callIdOf(key: string): string | undefined {
  return /(?:^|\/)tool:\d+:\d+:(.*)$/s.exec(key)?.[1]
}

function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'content' in value && Array.isArray(value.content)
}

function isSameResult(block: ToolResultBlock, known: StoredResult): boolean {
  const { content, is_error: isError } = block
  if (content !== known.content || isError !== (known.isError ? true : undefined)) return false
  // Type, call, content and error flag, and nothing else.
  return Object.keys(block).length === (Object.hasOwn(block, 'is_error') ? 4 : 3)
}

/** Replaces the content of an entry with its place. */
function withContent(
  entry: Extract<TranscriptEntry, { readonly kind: 'user' | 'assistant' }>,
  content: unknown,
): unknown {
  if (entry.kind === 'user') return { ...entry, message: { ...entry.message, content } }
  const { content: _content, ...message } = entry.message
  return { ...entry, message: { ...message, content } }
}
