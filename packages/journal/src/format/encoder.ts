import { isToolResult, uuidOf, type ToolResultBlock } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import { PastOfRun, type StepRecord } from '@halting/core/steps'
import { compactedIn } from './compaction-record.ts'
import { goBack, lineNamedBy } from './line-chain.ts'
import { changedSince } from './figures.ts'
import { OpenSegment, foldedBytes, messagePlace, type FoldLine } from './fold.ts'
import { lineOf, lineOfJson } from './line.ts'
import { withoutPayloads, type Payload } from './payloads.ts'
import { RunSums } from './session-sums.ts'
import { WrittenContents, type ReadContents, type Ref } from './shared-contents.ts'

/** The version of the format; a reader refuses a later one. */
export const journalVersion = 1

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
  readonly uuid: string
  readonly content: unknown
  readonly isError: boolean
}

/** What a file holds, as far as its next lines depend on it. */
export interface WrittenLines extends ReadContents {
  /** Number of lines. */
  readonly lines: number
  /** Results since the last lap, by the ids of their calls. */
  readonly results: ReadonlyMap<string, WrittenResult>
  /** The newest message of each agent; '' is the main loop. */
  readonly newest: ReadonlyMap<string, string>
  /** What was spent at the newest lap of each agent that goes on. */
  readonly spent: ReadonlyMap<string, Fields>
  /** The line in which each entry of the conversation stands last. */
  readonly entryLines: ReadonlyMap<string, string>
  /** What its runs come to. */
  readonly sums: RunSums
  /** What the last lines and the run that goes on come to, where the reader kept that: the next fold is of them, too. */
  readonly unfolded?: Unfolded | undefined
}

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
  readonly #replies = new WeakMap<object, string>()
  /** What was spent at the newest lap of each agent: the next one tells what changed. */
  readonly #spent: Map<string, Fields>
  /** Results of the turn that goes on, by the ids of their calls. */
  readonly #results: Map<string, WrittenResult>
  /** The newest message of each agent: the parent of the next one. */
  readonly #newest: Map<string, string>
  /** Lines of the entries that were written here, and before them of those that the file held. */
  readonly #entryLines: Map<string, string> = new Map()
  readonly #before: Pick<WrittenLines, 'entryLines'> | undefined
  readonly #sums: RunSums
  readonly #segment: OpenSegment
  /** Of the run that goes on; unknown where the reader did not keep it: then no fold is made before the next run. */
  #past: PastOfRun | undefined
  readonly #foldedBytes: number
  #count: number
  #payloads: Payload[] = []
  /** When the record at hand was recorded, where that was not now. */
  #timestamp: string | undefined

  /** Goes on with a file, where there is one: what it holds is not written again. */
  constructor(place: JournalPlace, file?: WrittenLines, foldAfterBytes: number = foldedBytes) {
    this.#place = place
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
    return lineOf({ type: 'halting', format: journalVersion, ...this.#place, timestamp, ...more })
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

  #linesOf(record: StepRecord): string {
    switch (record.type) {
      case 'start': {
        const { added, ...start } = record.start
        return this.#withEntries(record, added, (refs) => ({ ...record, start: { ...start, added: refs } }))
      }
      case 'lap': {
        const { added, spent, ...lap } = record.lap
        const { changed, ...figures } = this.#figures(lap.scope, spent)
        const recordOf = (refs: readonly unknown[]): Fields => ({ ...record, lap: { ...lap, ...figures, added: refs } })
        const lines = this.#withEntries(record, added, recordOf, changed === undefined ? {} : { changed })
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
        return this.#ownLine({ type: 'halting', record, ...own }, [])
      }
      case 'rewind':
        // What comes next is said behind the message to which the conversation went back (R-JOUR-9).
        goBack(this.#newest, (id) => this.#entryLines.get(id) ?? this.#before?.entryLines.get(id), record.after)
        return this.#ownLine({ type: 'halting', record }, [])
      case 'intent':
      case 'control':
        return this.#line({ type: 'halting', record })
    }
  }

  #figures(scope: string, spent: object): { readonly spent?: Fields; readonly changed?: Fields } {
    const figures = spent as Fields
    const before = this.#spent.get(scope)
    this.#spent.set(scope, figures)
    const changed = before === undefined ? undefined : changedSince(before, figures)
    return changed === undefined ? { spent: figures } : { changed }
  }

  /** The reply of a model, and the result of a tool, are messages by themselves. */
  #result(record: Extract<StepRecord, { readonly type: 'result' }>): string {
    const value = record.value as Fields | null
    if (typeof value !== 'object' || value === null) return this.#line({ type: 'halting', record })
    const scope = scopeOf(record.key)
    if (value['kind'] === 'answered' && isMessage(value['message'])) {
      const { message, ...rest } = value
      const shown = message as { readonly content: readonly ContentBlock[] }
      const uuid = this.#uuid(record.key)
      this.#written.set(shown.content, { ref: uuid })
      this.#replies.set(shown, uuid)
      return this.#message(
        'assistant',
        uuid,
        scope,
        { type: 'message', ...shown },
        { record: { ...record, value: rest } },
      )
    }
    const compacted = compactedIn(record)
    if (compacted !== undefined) {
      const result = { ...compacted, messages: compacted.messages.map((message) => this.#shown(message)) }
      return this.#line({ type: 'halting', record: { ...record, value: { ...value, result } } })
    }
    const callId = callIdOf(record.key)
    if (callId === undefined || !('content' in value) || typeof value['status'] !== 'string')
      return this.#line({ type: 'halting', record })
    const { content, details, ...rest } = value
    const isError = value['isError'] === true
    const uuid = this.#uuid(record.key)
    this.#results.set(callId, { uuid, content, isError })
    const block = { type: 'tool_result', tool_use_id: callId, content, ...(isError && { is_error: true }) }
    const own = { ...(details !== undefined && { toolUseResult: details }), record: { ...record, value: rest } }
    return this.#message('user', uuid, scope, { role: 'user', content: [block] }, own)
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
    return lines + this.#entriesLine(record, { type: 'halting', record: recordOf(refs), ...own }, refs)
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
    this.#segment.record(refs, Buffer.byteLength(written))
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
    this.#count++
    return lineOf({ type: 'halting', fold })
  }

  #entry(entry: TranscriptEntry): { readonly lines: string; readonly ref: unknown } {
    switch (entry.kind) {
      case 'assistant': {
        const { content } = entry.message
        const reply = this.#replies.get(entry.message)
        if (reply !== undefined) return { lines: '', ref: { ...entry, message: reply } }
        const known = this.#written.placeOf(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, known) }
        return this.#newMessage(entry, 'assistant', { type: 'message', ...entry.message })
      }
      case 'user': {
        const { content } = entry.message
        if (entry.origin === 'tool_results' && typeof content !== 'string') return this.#toolResults(entry, content)
        const known = this.#written.placeOf(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, known) }
        return this.#newMessage(entry, 'user', entry.message)
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
    message: object,
  ): { readonly lines: string; readonly ref: unknown } {
    const uuid = this.#uuid(entry.id)
    const { content } = entry.message
    this.#written.set(content, { ref: uuid })
    return { lines: this.#message(type, uuid, scopeOf(entry.id), message, {}), ref: withContent(entry, { ref: uuid }) }
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
      const uuid = this.#uuid(`${entry.id}#${index}`)
      lines += this.#message('user', uuid, scopeOf(entry.id), { role: 'user', content: [block] }, {})
      blocks.push({ ref: uuid })
    }
    this.#written.set(content, { blocks })
    return { lines, ref: withContent(entry, { blocks }) }
  }

  /** A message that a compaction left, by the line in which it stands, if it stands in one as it is. */
  #shown(message: ModelMessage): unknown {
    const { content } = message
    const known = this.#written.placeOf(content)
    return known === undefined ? message : { ...message, content: known }
  }

  #message(type: 'user' | 'assistant', uuid: string, scope: string, message: object, own: Fields): string {
    const isSidechain = scope.includes('/agent:')
    // One chain for the main loop over all runs, and one for each subagent.
    const chain = isSidechain ? scope : ''
    const parentUuid = this.#newest.get(chain) ?? null
    this.#newest.set(chain, uuid)
    const { cwd, sessionId, version } = this.#place
    const first = { parentUuid, isSidechain, ...(isSidechain && { agentId: scope }), type }
    const json = JSON.stringify(message)
    const timestamp = this.#timestamp ?? new Date().toISOString()
    const last = JSON.stringify({ uuid, timestamp, userType: 'external', cwd, sessionId, version, ...own })
    const line = `${JSON.stringify(first).slice(0, -1)},"message":${json},${last.slice(1)}`
    return this.#put(line, uuid, messagePlace(first, json))
  }

  #uuid(name: string): string {
    return uuidOf(`${this.#place.sessionId}/${name}/${this.#count}`)
  }

  #line(value: Fields): string {
    return this.#put(JSON.stringify(value))
  }

  #put(value: string, uuid?: string, message?: ReturnType<typeof messagePlace>): string {
    this.#count++
    const { json, payloads } = withoutPayloads(value)
    this.#payloads.push(...payloads)
    const line = lineOfJson(json)
    this.#segment.wrote(line, uuid, payloads.length === 0 ? message : undefined)
    return line
  }
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
