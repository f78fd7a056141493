import { isToolResult, uuidOf, type ToolResultBlock } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, TranscriptEntry } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { lineOf, lineOfJson } from './journal-line.ts'
import { withoutPayloads, type Payload } from './journal-payloads.ts'

/** The version of the format; a reader refuses a later one. */
export const journalVersion = 1

/** What stands in every line that other tools read, too. */
export interface JournalPlace {
  readonly sessionId: string
  readonly cwd: string
  /** Of the program that writes. */
  readonly version: string
}

type Fields = { readonly [field: string]: unknown }

/** A place in a line: content that stands in another line, by its uuid. */
interface Ref {
  readonly ref: string
}

/** A tool's result that stands in a line of its own. */
interface WrittenResult {
  readonly uuid: string
  readonly content: unknown
  readonly isError: boolean
}

/** What a file holds, as far as its next lines depend on it. */
export interface WrittenLines {
  readonly lines: number
  /** Contents of messages by the line in which they stand. */
  readonly contents: ReadonlyMap<string, unknown>
  /** Results since the last lap, by the ids of their calls. */
  readonly results: ReadonlyMap<string, WrittenResult>
  /** The newest message of each agent; '' is the main loop. */
  readonly newest: ReadonlyMap<string, string>
}

/**
 * Puts records into lines. A message is written once, in a line of the shape that readers of such sessions know; what else is recorded of it
 * (its step, the lap that it belongs to) stands beside it or refers to it.
 */
export class JournalEncoder {
  readonly #place: JournalPlace
  /** Lines of message contents that were written, by the content itself. */
  readonly #written = new WeakMap<object, string>()
  /** Results of the turn that goes on, by the ids of their calls. */
  readonly #results: Map<string, WrittenResult>
  /** The newest message of each agent: the parent of the next one. */
  readonly #newest: Map<string, string>
  #count: number
  #payloads: Payload[] = []

  /** Goes on with a file, where there is one: what it holds is not written again. */
  constructor(place: JournalPlace, file?: WrittenLines) {
    this.#place = place
    this.#count = file?.lines ?? 0
    this.#results = new Map(file?.results)
    this.#newest = new Map(file?.newest)
    for (const [uuid, content] of file?.contents ?? [])
      if (typeof content === 'object' && content !== null) this.#written.set(content, uuid)
  }

  head(): string {
    const { sessionId, cwd, version } = this.#place
    this.#count++
    return lineOf({
      type: 'halting',
      format: journalVersion,
      sessionId,
      cwd,
      version,
      timestamp: new Date().toISOString(),
    })
  }

  /** The lines of a record, and the long texts that stand in files of their own: these come first. */
  linesOf(record: StepRecord): { readonly lines: string; readonly payloads: readonly Payload[] } {
    this.#payloads = []
    const lines = this.#linesOf(record)
    return { lines, payloads: this.#payloads }
  }

  #linesOf(record: StepRecord): string {
    switch (record.type) {
      case 'start': {
        const { added, ...start } = record.start
        return this.#withEntries(added, (refs) => ({ ...record, start: { ...start, added: refs } }))
      }
      case 'lap': {
        const { added, ...lap } = record.lap
        const lines = this.#withEntries(added, (refs) => ({ ...record, lap: { ...lap, added: refs } }))
        if (record.lap.scope === '') this.#results.clear()
        return lines
      }
      case 'end': {
        const { added, ...end } = record
        return this.#withEntries(added, (refs) => ({ ...end, added: refs }))
      }
      case 'result':
        return this.#result(record)
      case 'intent':
      case 'control':
        return this.#line({ type: 'halting', record })
    }
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
      this.#written.set(shown.content, uuid)
      return this.#message(
        'assistant',
        uuid,
        scope,
        { type: 'message', ...shown },
        { record: { ...record, value: rest } },
      )
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
  #withEntries(added: readonly TranscriptEntry[], recordOf: (refs: readonly unknown[]) => unknown): string {
    let lines = ''
    const refs: unknown[] = []
    for (const entry of added) {
      const encoded = this.#entry(entry)
      lines += encoded.lines
      refs.push(encoded.ref)
    }
    return lines + this.#line({ type: 'halting', record: recordOf(refs) })
  }

  #entry(entry: TranscriptEntry): { readonly lines: string; readonly ref: unknown } {
    switch (entry.kind) {
      case 'assistant': {
        const { content } = entry.message
        const known = this.#written.get(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, { ref: known }) }
        return this.#newMessage(entry, 'assistant', { type: 'message', ...entry.message })
      }
      case 'user': {
        const { content } = entry.message
        if (entry.origin === 'tool_results' && typeof content !== 'string') return this.#toolResults(entry, content)
        const known = typeof content === 'string' ? undefined : this.#written.get(content)
        if (known !== undefined) return { lines: '', ref: withContent(entry, { ref: known }) }
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
    if (typeof content !== 'string') this.#written.set(content, uuid)
    return { lines: this.#message(type, uuid, scopeOf(entry.id), message, {}), ref: withContent(entry, { ref: uuid }) }
  }

  /** Results stand in the lines of their steps, unless a hook or the loop put something else in their place. */
  #toolResults(
    entry: Extract<TranscriptEntry, { readonly kind: 'user' }>,
    content: readonly ContentBlock[],
  ): { readonly lines: string; readonly ref: unknown } {
    let lines = ''
    const blocks: unknown[] = []
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
    return { lines, ref: withContent(entry, { blocks }) }
  }

  /** A message that a compaction left, by the line in which it stands, if it stands in one as it is. */
  #shown(message: ModelMessage): unknown {
    const { content } = message
    const known = typeof content === 'string' ? undefined : this.#written.get(content)
    return known === undefined ? message : { ...message, content: { ref: known } satisfies Ref }
  }

  #message(type: 'user' | 'assistant', uuid: string, scope: string, message: object, own: Fields): string {
    const isSidechain = scope.includes('/agent:')
    // One chain for the main loop over all runs, and one for each subagent.
    const chain = isSidechain ? scope : ''
    const parentUuid = this.#newest.get(chain) ?? null
    this.#newest.set(chain, uuid)
    const { cwd, sessionId, version } = this.#place
    return this.#line({
      parentUuid,
      isSidechain,
      ...(isSidechain && { agentId: scope }),
      type,
      message,
      uuid,
      timestamp: new Date().toISOString(),
      userType: 'external',
      cwd,
      sessionId,
      version,
      ...own,
    })
  }

  #uuid(name: string): string {
    return uuidOf(`${this.#place.sessionId}/${name}/${this.#count}`)
  }

  #line(value: Fields): string {
    this.#count++
    const { json, payloads } = withoutPayloads(value)
    this.#payloads.push(...payloads)
    return lineOfJson(json)
  }
}

/** The run and the agent that a key or an id is of. */
function scopeOf(key: string): string {
  const agents = /^[^/]*\/(?:agent:[^/]*\/)*/.exec(key)?.[0] ?? ''
  return agents
}

function callIdOf(key: string): string | undefined {
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

/** Puts lines back into records. */
export class JournalDecoder implements WrittenLines {
  readonly contents: Map<string, unknown> = new Map()
  readonly results: Map<string, WrittenResult> = new Map()
  readonly newest: Map<string, string> = new Map()
  readonly records: StepRecord[] = []
  /** The first line, which says what the file is, is one of them. */
  lines = 1

  /** @throws TypeError for a line that refers to one that there is not. */
  add(line: Fields): void {
    const { uuid, message, agentId } = line
    if (typeof uuid === 'string' && typeof message === 'object' && message !== null) {
      this.contents.set(uuid, (message as Fields)['content'])
      this.newest.set(typeof agentId === 'string' ? agentId : '', uuid)
    }
    const record = line['record']
    if (typeof record === 'object' && record !== null) {
      const decoded = this.#recordOf(record as StepRecord, line)
      this.records.push(decoded)
      if (typeof uuid === 'string') this.#keepResult(decoded, uuid)
      if (decoded.type === 'lap' && decoded.lap.scope === '') this.results.clear()
    }
    this.lines++
  }

  #keepResult(record: StepRecord, uuid: string): void {
    const callId = record.type === 'result' ? callIdOf(record.key) : undefined
    if (record.type !== 'result' || callId === undefined) return
    const { content, isError } = record.value as Fields
    this.results.set(callId, { uuid, content, isError: isError === true })
  }

  #recordOf(record: StepRecord, { type, message, toolUseResult: details }: Fields): StepRecord {
    switch (record.type) {
      case 'start':
        return { ...record, start: { ...record.start, added: this.#entries(record.start.added) } }
      case 'lap':
        return { ...record, lap: { ...record.lap, added: this.#entries(record.lap.added) } }
      case 'end':
        return { ...record, added: this.#entries(record.added) }
      case 'result': {
        const value = record.value as Fields
        if (type === 'assistant') {
          const { type: _type, ...shown } = message as Fields
          return { ...record, value: { ...value, message: shown } }
        }
        if (type !== 'user') return record
        const [block] = (message as { readonly content: readonly ToolResultBlock[] }).content
        return { ...record, value: { ...value, content: block?.content, ...(details !== undefined && { details }) } }
      }
      case 'intent':
      case 'control':
        return record
    }
  }

  #entries(refs: readonly unknown[]): readonly TranscriptEntry[] {
    return refs.map((ref) => {
      const entry = ref as TranscriptEntry
      if (entry.kind === 'compact_boundary')
        return { ...entry, messages: entry.messages.map((message) => this.#withContent(message)) }
      if (entry.kind !== 'user' && entry.kind !== 'assistant') return entry
      // The shape is that of the entry; what was a place is the content again.
      return { ...entry, message: this.#withContent(entry.message) } as TranscriptEntry
    })
  }

  #withContent<T extends { readonly content: unknown }>(message: T): T {
    const { content } = message
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return message
    if ('ref' in content) return { ...message, content: this.#content(String(content.ref)) }
    if (!('blocks' in content) || !Array.isArray(content.blocks)) return message
    const blocks = content.blocks.flatMap((each) => this.#content((each as Ref).ref) as readonly ContentBlock[])
    return { ...message, content: blocks }
  }

  #content(uuid: string): unknown {
    if (!this.contents.has(uuid)) throw new TypeError(`it refers to line ${uuid}, which is missing`)
    return this.contents.get(uuid)
  }
}
