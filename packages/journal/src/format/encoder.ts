import { isToolResult, uuidOf, type ToolResultBlock } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import { PastOfRun, type StepRecord } from '@halting/core/steps'
import { compactedIn } from './compaction-record.ts'
import { goBack, lineNamedBy, shortEntry, type LineName } from './line-chain.ts'
import { changedSince, changesSince, isSameJson } from './figures.ts'
import { OpenSegment, foldedBytes, messagePlace, replyStart, type FoldLine } from './fold.ts'
import { lineOf, lineOfJson } from './line.ts'
import { withoutPayloads, type Payload } from './payloads.ts'
import { RunSums } from './session-sums.ts'
import { WrittenContents, type ReadContents, type Ref } from './shared-contents.ts'

/**
 * The version of the format; a reader refuses a later one. In files of the first each message has all that readers of other programs look for. Later ones leave
 * out of a line what the first line, the number of the line or an earlier line says.
 */
export const journalVersion = 2

/** In `same` of a reply: it was granted what the intent of its step says, and charged for the usage that its message says. */
export const sameGrant = 1
export const sameUsage = 2

/** A version that is written: a file goes on in the one that it began in. */
export type JournalFormat = 1 | 2

/** What stands in every line that other tools read, too. */
export interface JournalPlace {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Of the program that writes. */
  readonly version: string
  /** Title of the session; absent for none. */
  readonly title?: string
}

export type Fields = { readonly [field: string]: unknown }

/** A tool's result that stands in a line of its own. */
export interface WrittenResult {
  readonly uuid: LineName
  readonly content: unknown
  readonly isError: boolean
}

/** What a file holds, as far as its next lines depend on it. */
export interface WrittenLines extends ReadContents {
  /** That of its first line: a file goes on in the format that it began in. */
  readonly format: JournalFormat
  /** Number of lines. */
  readonly lines: number
  /** Results since the last lap, by the ids of their calls. */
  readonly results: ReadonlyMap<string, WrittenResult>
  /** The newest message of each agent; '' is the main loop. */
  readonly newest: ReadonlyMap<string, LineName>
  /** Intents since the last fold that have no result, by their lines. */
  readonly intents: ReadonlyMap<number, StepIntent>
  /** What was spent at the newest lap of each agent that goes on. */
  readonly spent: ReadonlyMap<string, Fields>
  /** The line in which each entry of the conversation stands last. */
  readonly entryLines: ReadonlyMap<string, LineName>
  /** What its runs come to. */
  readonly sums: RunSums
  /** What the last lines and the run that goes on come to, where the reader kept that: the next fold is of them, too. */
  readonly unfolded?: Unfolded | undefined
}

/** What a result names of the intent of its step. */
export type StepIntent = Pick<Extract<StepRecord, { readonly type: 'intent' }>, 'key' | 'digest' | 'intent' | 'at'>

/** The lines since the last fold, and what the run that goes on comes to. */
export interface Unfolded {
  readonly segment: OpenSegment
  readonly past: PastOfRun
}

/**
 * Puts records into lines. A message is written once, in a line of the shape that readers of such sessions know; what else is recorded of it
 * (its step, the lap that it belongs to) stands beside it or refers to it.
 */
export class JournalEncoder {
  readonly #place: JournalPlace
  readonly #written: WrittenContents
  /** Lines of replies, by the message itself: an entry that holds it as it is names the line and nothing else. */
  readonly #replies = new WeakMap<object, LineName>()
  /** What was spent at the newest lap of each agent: the next one tells what changed. */
  readonly #spent: Map<string, Fields>
  /** Results of the turn that goes on, by the ids of their calls. */
  readonly #results: Map<string, WrittenResult>
  /** The newest message of each agent: the parent of the next one. */
  readonly #newest: Map<string, LineName>
  /** Lines of the entries that were written here, and before them of those that the file held. */
  readonly #entryLines: Map<string, LineName> = new Map()
  readonly #before: Pick<WrittenLines, 'entryLines'> | undefined
  readonly #format: JournalFormat
  /** Of steps since the last fold without a result, by their keys: the result names the line. */
  readonly #intents: Map<string, NamedIntent> = new Map()
  readonly #sums: RunSums
  readonly #segment: OpenSegment
  /** Of the run that goes on; unknown where the reader did not keep it: then no fold is made before the next run. */
  #past: PastOfRun | undefined
  readonly #foldedBytes: number
  #count: number
  /** The JSON of lines before long texts are taken out of them, where somebody asks for it. */
  #whole: string[] | undefined
  /** Of the last line that was put. */
  #lastBytes = 0
  #payloads: Payload[] = []
  /** When the record at hand was recorded, where that was not now. */
  #timestamp: string | undefined

  /** Goes on with a file, where there is one: what it holds is not written again. */
  constructor(
    place: JournalPlace,
    file?: WrittenLines,
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
    this.#written = new WrittenContents(file)
  }

  /** The first line; with the time, and more fields, of a session that was recorded elsewhere. */
  head(timestamp: string = new Date().toISOString(), more: Fields = {}): string {
    this.#count++
    return lineOf({ type: 'halting', format: this.#format, ...this.#place, timestamp, ...more })
  }

  /** The lines of a record, and the long texts that stand in files of their own: these come first. `timestamp` is when it was recorded; now when absent. */
  linesOf(record: StepRecord, timestamp?: string): { readonly lines: string; readonly payloads: readonly Payload[] } {
    this.#payloads = []
    this.#timestamp = timestamp
    this.#sums.note(record)
    if (record.type === 'start' && record.scope === '') this.#past = new PastOfRun()
    this.#past?.note(record)
    const lines = this.#linesOf(record)
    return { lines, payloads: this.#payloads }
  }

  /** The JSON of the lines of a record, with its long texts in their places. */
  wholeLinesOf(record: StepRecord, timestamp: string | undefined): readonly string[] {
    this.#whole = []
    const { lines } = this.linesOf(record, timestamp)
    return lines === '' ? [] : this.#whole
  }

  #linesOf(record: StepRecord): string {
    switch (record.type) {
      case 'start': {
        const { added, ...start } = record.start
        return this.#withEntries(record, added, (refs) => ({ ...record, start: { ...start, added: refs } }))
      }
      case 'lap': {
        const { added, spent, ...lap } = record.lap
        const { all, ...changes } = this.#figures(lap.scope, spent)
        const figures = all === undefined ? {} : { spent: all }
        const recordOf = (refs: readonly unknown[]): Fields => ({ ...record, lap: { ...lap, ...figures, added: refs } })
        const lines = this.#withEntries(record, added, recordOf, changes)
        if (record.lap.scope !== '') return lines
        this.#results.clear()
        // Whoever goes on inside an agent of the background needs its records from before.
        return record.lap.spent.openAgents === undefined ? lines + this.#fold(record.lap.transition) : lines
      }
      case 'end': {
        const { added, ...end } = record
        this.#spent.delete(record.scope)
        // Whoever lists sessions reads this line, and not all before it.
        const own = record.scope === '' ? { session: this.#sums.sums() } : {}
        return this.#withEntries(record, added, (refs) => ({ ...end, added: refs }), own)
      }
      case 'result':
        return this.#result(record)
      case 'stage': {
        // Whoever lists sessions reads the last line, and of a stage that did not end all before it.
        const { endedAs } = this.#sums
        const isLast = record.stage.phase === 'ended' && endedAs !== undefined
        const own = isLast ? { session: this.#sums.sums(), ended: endedAs } : {}
        return this.#ownLine(this.#own({ record, ...own }), [])
      }
      case 'rewind':
        // What comes next is said behind the message to which the conversation went back (R-JOUR-9).
        goBack(this.#newest, (id) => this.#entryLines.get(id) ?? this.#before?.entryLines.get(id), record.after)
        return this.#ownLine(this.#own({ record }), [])
      case 'intent':
        if (this.#format === 1) return this.#line(this.#own({ record }))
        this.#intents.set(record.key, { record, line: this.#count })
        return this.#line({ record: record.intent === null ? withoutIntent(record) : record })
      case 'control':
        return this.#line(this.#own({ record }))
    }
  }

  /** A line that is no message. */
  #own(fields: Fields): Fields {
    return this.#format === 1 ? { type: 'halting', ...fields } : fields
  }

  /** `all` of what was spent, or what a line says of its changes. */
  #figures(scope: string, spent: object): Fields {
    const figures = spent as Fields
    const before = this.#spent.get(scope)
    this.#spent.set(scope, figures)
    if (before === undefined) return { all: figures }
    if (this.#format > 1) return (changesSince(before, figures) as Fields | undefined) ?? { all: figures }
    const changed = changedSince(before, figures)
    return changed === undefined ? { all: figures } : { changed }
  }

  /** The reply of a model, and the result of a tool, are messages by themselves. */
  #result(record: ResultRecord): string {
    const value = record.value as Fields | null
    const intent = this.#intentOf(record)
    if (typeof value !== 'object' || value === null)
      return this.#line(this.#own({ record: this.#recordFor(record, intent) }))
    if (value['kind'] === 'answered' && isMessage(value['message'])) return this.#reply(record, value, intent)
    const compacted = compactedIn(record)
    if (compacted !== undefined) {
      const result = { ...compacted, messages: compacted.messages.map((message) => this.#shown(message)) }
      return this.#line(this.#own({ record: this.#recordFor({ ...record, value: { ...value, result } }, intent) }))
    }
    const callId = callIdOf(record.key)
    if (callId === undefined || !('content' in value) || typeof value['status'] !== 'string')
      return this.#line(this.#own({ record: this.#recordFor(record, intent) }))
    const { content, details, ...rest } = value
    const isError = value['isError'] === true
    const uuid = this.#name(record.key)
    this.#results.set(callId, { uuid, content, isError })
    const block = { type: 'tool_result', tool_use_id: callId, content, ...(isError && { is_error: true }) }
    const written = this.#recordFor({ ...record, value: rest }, intent)
    const own = details === undefined ? { record: written } : { toolUseResult: details, record: written }
    return this.#message('user', uuid, scopeOf(record.key), JSON.stringify({ role: 'user', content: [block] }), own)
  }

  /** The intent that a result names, which no other one will. */
  #intentOf({ key, digest }: ResultRecord): NamedIntent | undefined {
    const intent = this.#intents.get(key)
    if (intent?.record.digest !== digest) return undefined
    this.#intents.delete(key)
    return intent
  }

  /** What the intent and the message say already stands in no record of it. */
  #reply(record: ResultRecord, value: Fields, intent: NamedIntent | undefined): string {
    const { message, ...others } = value
    const rest: { [field: string]: unknown } = others
    const shown = message as { readonly content: readonly ContentBlock[]; readonly usage?: unknown }
    const uuid = this.#name(record.key)
    this.#written.set(shown.content, { ref: uuid })
    this.#replies.set(shown, uuid)
    const own: { [field: string]: unknown } = {}
    let same = 0
    if (intent !== undefined && isSameObject(rest['grant'], intent.record.intent)) {
      delete rest['grant']
      same += sameGrant
    }
    const charge = rest['charge'] as Fields | null | undefined
    if (this.#format > 1 && typeof charge === 'object' && isSameObject(charge?.['usage'], shown.usage)) {
      const { usage: _usage, ...figures } = charge ?? {}
      rest['charge'] = figures
      same += sameUsage
    }
    own['record'] = this.#recordFor({ ...record, value: rest }, intent)
    if (same > 0) own['same'] = same
    return this.#message('assistant', uuid, scopeOf(record.key), this.#replyJson(shown), own)
  }

  /**
   * A result as its line has it: of a step whose intent is in a line, that line says its name, its digest and mostly when it began. It is so many lines
   * before this one.
   */
  #recordFor(record: ResultRecord, intent: NamedIntent | undefined): Fields {
    if (intent === undefined) return record
    const { value, at, durationMs } = record
    const of = this.#count - intent.line
    return at === intent.record.at ? { of, value, durationMs } : { of, value, at, durationMs }
  }

  #replyJson(message: object): string {
    const json = JSON.stringify(message)
    return this.#format > 1 ? json : `${replyStart}${json.slice(1)}`
  }

  /** Lines for entries that are in none yet, and then one line that refers to them. */
  #withEntries(
    record: EntriesRecord,
    added: readonly TranscriptEntry[],
    recordOf: (refs: readonly unknown[]) => unknown,
    own: Fields = {},
  ): string {
    let lines = ''
    const refs: unknown[] = []
    for (const entry of added) {
      const encoded = this.#entry(entry)
      lines += encoded.lines
      const uuid = lineNamedBy(encoded.ref)
      if (uuid !== undefined) this.#entryLines.set(entry.id, uuid)
      refs.push(encoded.ref)
    }
    return lines + this.#entriesLine(record, this.#own({ record: recordOf(refs), ...own }), refs)
  }

  /** What a fold says of a line that has entries of the main loop. */
  #entriesLine(record: EntriesRecord, line: Fields, refs: readonly unknown[]): string {
    const isMain = record.type === 'lap' ? record.lap.scope === '' : record.scope === ''
    if (!isMain) return this.#line(line)
    if (record.type !== 'lap') return this.#ownLine(line, refs)
    const written = this.#line(line)
    this.#segment.lap(refs)
    return written
  }

  /** A line that is read as it is by whoever reads a fold. */
  #ownLine(line: Fields, refs: readonly unknown[]): string {
    const written = this.#line(line)
    this.#segment.record(refs, this.#lastBytes)
    return written
  }

  /** After enough lines: one that sums them up. */
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

  #entry(entry: TranscriptEntry): { readonly lines: string; readonly ref: unknown } {
    switch (entry.kind) {
      case 'assistant': {
        const { content } = entry.message
        const reply = this.#replies.get(entry.message)
        if (reply !== undefined) return { lines: '', ref: shortEntry({ ...entry, message: reply }) }
        const known = this.#written.placeOf(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, known) }
        return this.#newMessage(entry, 'assistant', this.#replyJson(entry.message))
      }
      case 'user': {
        const { content } = entry.message
        if (entry.origin === 'tool_results' && typeof content !== 'string') return this.#toolResults(entry, content)
        const known = this.#written.placeOf(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, known) }
        return this.#newMessage(entry, 'user', JSON.stringify(entry.message))
      }
      case 'compact_boundary': {
        const messages = entry.messages.map((message) => this.#shown(message))
        const { trigger, preTokens } = entry
        const line = this.#line({
          type: 'system',
          subtype: 'compact_boundary',
          content: 'Conversation compacted',
          compactMetadata: { trigger: trigger === 'manual' ? 'manual' : 'auto', preTokens },
        })
        return { lines: line, ref: { ...entry, messages } }
      }
      case 'attachment':
      case 'results_cleared':
      case 'collapse_staged':
      case 'media_removed':
        return { lines: '', ref: entry }
    }
  }

  #newMessage(
    entry: Extract<TranscriptEntry, { readonly kind: 'user' | 'assistant' }>,
    type: 'user' | 'assistant',
    json: string,
  ): { readonly lines: string; readonly ref: unknown } {
    const uuid = this.#name(entry.id)
    const { content } = entry.message
    this.#written.set(content, { ref: uuid })
    return { lines: this.#message(type, uuid, scopeOf(entry.id), json, {}), ref: withContent(entry, { ref: uuid }) }
  }

  /** Results stand in the lines of their steps, unless a hook or the loop put something else in their place. */
  #toolResults(
    entry: Extract<TranscriptEntry, { readonly kind: 'user' }>,
    content: readonly ContentBlock[],
  ): { readonly lines: string; readonly ref: unknown } {
    let lines = ''
    const blocks: Ref[] = []
    for (const [index, block] of content.entries()) {
      const known = isToolResult(block) ? this.#results.get(block.tool_use_id) : undefined
      if (known !== undefined && isSameResult(block as ToolResultBlock, known)) {
        blocks.push({ ref: known.uuid })
        continue
      }
      const uuid = this.#name(`${entry.id}#${index}`)
      const json = JSON.stringify({ role: 'user', content: [block] })
      lines += this.#message('user', uuid, scopeOf(entry.id), json, {})
      blocks.push({ ref: uuid })
    }
    this.#written.set(content, { blocks })
    const isPlain = this.#format > 1 && Object.keys(entry.message).length === 2
    if (!isPlain) return { lines, ref: withContent(entry, { blocks }) }
    return { lines, ref: shortEntry({ ...entry, message: blocks.map((block) => block.ref) }) }
  }

  /** A message that a compaction left, by the line in which it stands, if it stands in one as it is. */
  #shown(message: ModelMessage): unknown {
    const { content } = message
    const known = this.#written.placeOf(content)
    return known === undefined ? message : { ...message, content: known }
  }

  /** `json` is that of the message. */
  #message(type: 'user' | 'assistant', uuid: LineName, scope: string, json: string, own: Fields): string {
    const isSidechain = scope.includes('/agent:')
    // One chain for the main loop over all runs, and one for each subagent.
    const chain = isSidechain ? scope : ''
    const parentUuid = this.#newest.get(chain) ?? null
    this.#newest.set(chain, uuid)
    const agent = isSidechain ? { agentId: scope } : {}
    if (this.#format > 1) {
      const start = isSidechain ? JSON.stringify({ ...agent, type }) : `{"type":"${type}"}`
      const last = JSON.stringify(own)
      const line = `${start.slice(0, -1)},"message":${json},"timestamp":${this.#moment()}${last === '{}' ? '}' : `,${last.slice(1)}`}`
      return this.#put(line, uuid, messagePlace(start, json, type))
    }
    const { cwd, sessionId, version } = this.#place
    const timestamp = this.#timestamp ?? new Date().toISOString()
    const start = JSON.stringify({ parentUuid, isSidechain, ...agent, type })
    const last = JSON.stringify({ uuid, timestamp, userType: 'external', cwd, sessionId, version, ...own })
    return this.#put(`${start.slice(0, -1)},"message":${json},${last.slice(1)}`, uuid, messagePlace(start, json, type))
  }

  /** When the record at hand was recorded, as JSON: milliseconds since 1970, or a text that says more. */
  #moment(): string {
    if (this.#timestamp === undefined) return String(Date.now())
    const moment = Date.parse(this.#timestamp)
    const isAll = Number.isFinite(moment) && new Date(moment).toISOString() === this.#timestamp
    return isAll ? String(moment) : JSON.stringify(this.#timestamp)
  }

  /** What the next line is known by. */
  #name(of: string): LineName {
    return this.#format > 1 ? this.#count : uuidOf(`${this.#place.sessionId}/${of}/${this.#count}`)
  }

  #line(value: Fields): string {
    return this.#put(JSON.stringify(value))
  }

  #put(value: string, uuid?: LineName, message?: ReturnType<typeof messagePlace>): string {
    this.#count++
    this.#whole?.push(value)
    const { json, payloads } = withoutPayloads(value)
    this.#payloads.push(...payloads)
    const line = lineOfJson(json)
    this.#lastBytes = Buffer.byteLength(line)
    this.#segment.wrote(line, this.#lastBytes, uuid, payloads.length === 0 ? message : undefined)
    return line
  }
}

type ResultRecord = Extract<StepRecord, { readonly type: 'result' }>

/** An intent, and the number of its line. */
interface NamedIntent {
  readonly record: StepIntent
  readonly line: number
}

/** An intent that says nothing but its name and its digest. */
function withoutIntent({ type, key, digest, at }: Extract<StepRecord, { readonly type: 'intent' }>): Fields {
  return { type, key, digest, at }
}

function isSameObject(value: unknown, other: unknown): boolean {
  return typeof value === 'object' && value !== null && isSameJson(value, other)
}

type EntriesRecord = Extract<StepRecord, { readonly type: 'start' | 'lap' | 'end' }>

/** The run and the agent that a key or an id is of. */
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

function isSameResult(
  { type: _type, tool_use_id: _id, content, is_error: isError, ...more }: ToolResultBlock,
  known: WrittenResult,
): boolean {
  return content === known.content && isError === (known.isError ? true : undefined) && Object.keys(more).length === 0
}

/** The entry, with the place of its content instead of the content. */
function withContent(
  entry: Extract<TranscriptEntry, { readonly kind: 'user' | 'assistant' }>,
  content: unknown,
): unknown {
  if (entry.kind === 'user') return { ...entry, message: { ...entry.message, content } }
  const { content: _content, ...message } = entry.message
  return { ...entry, message: { ...message, content } }
}
