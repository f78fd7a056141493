import type { ContentBlock, TranscriptEntry } from '@halting/core'
import type { ToolResultBlock } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { goBack, noteLine } from './journal-chain.ts'
import { callIdOf, type Fields, type Ref, type WrittenLines, type WrittenResult } from './journal-codec.ts'
import { RunSums } from './session-sums.ts'

/** `conversation`: only what tells what was said and how runs ended; of no use to a run that goes on in its middle. */
export type KeptRecords = 'all' | 'conversation'

/** Puts lines back into records. */
export class JournalDecoder implements WrittenLines {
  readonly contents: Map<string, unknown> = new Map()
  readonly results: Map<string, WrittenResult> = new Map()
  readonly newest: Map<string, string> = new Map()
  readonly entryLines: Map<string, string> = new Map()
  readonly spent: Map<string, Fields> = new Map()
  readonly sums: RunSums = new RunSums()
  readonly #replies = new Map<string, unknown>()
  readonly records: StepRecord[] = []
  /** The first line, which says what the file is, is one of them. */
  lines = 1
  readonly #keeps: KeptRecords

  constructor(keeps: KeptRecords = 'all') {
    this.#keeps = keeps
  }

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
      // Most of the time that reading takes is that of holding what nobody reads.
      if (this.#keeps === 'all' || isOfConversation(decoded)) this.records.push(decoded)
      this.sums.note(decoded)
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

  /** The record was just parsed and is nobody else's: what stands elsewhere is put into it, and nothing is copied. */
  #recordOf(record: StepRecord, line: Fields): StepRecord {
    switch (record.type) {
      case 'start':
        this.#putEntries(record.start.added)
        return record
      case 'lap':
        this.#putEntries(record.lap.added)
        this.#putSpent(record.lap, line['changed'] as Fields | undefined)
        return record
      case 'end':
        this.spent.delete(record.scope)
        this.#putEntries(record.added)
        return record
      case 'result':
        this.#putMessage(record.value as { [field: string]: unknown }, line)
        return record
      case 'rewind':
        goBack(this.newest, this.entryLines, record.after)
        return record
      case 'intent':
      case 'control':
        return record
    }
  }

  /** The reply, or the content of the result, that the line is the message of. */
  #putMessage(value: { [field: string]: unknown }, { type, uuid, message, toolUseResult: details }: Fields): void {
    if (type === 'assistant') {
      const { type: _type, ...shown } = message as Fields
      this.#replies.set(String(uuid), shown)
      value['message'] = shown
    } else if (type === 'user') {
      value['content'] = (message as { readonly content: readonly ToolResultBlock[] }).content[0]?.content
      if (details !== undefined) value['details'] = details
    }
  }

  #putSpent(lap: { readonly scope: string; spent?: unknown }, changed: Fields | undefined): void {
    if (changed !== undefined) {
      const before = this.spent.get(lap.scope)
      if (before === undefined) throw new TypeError('it tells what changed since a lap that is missing')
      // Every field is there already. To set them is several times faster than to spread both.
      const spent: { [field: string]: unknown } = this.#keeps === 'all' ? { ...before } : before
      for (const field of Object.keys(changed)) spent[field] = changed[field]
      lap.spent = spent
    }
    this.spent.set(lap.scope, lap.spent as Fields)
  }

  #putEntries(entries: readonly TranscriptEntry[]): void {
    for (const entry of entries) {
      noteLine(this.entryLines, entry.id, entry)
      if (entry.kind === 'compact_boundary') for (const message of entry.messages) this.#putContent(message)
      if (entry.kind !== 'user' && entry.kind !== 'assistant') continue
      const holder = entry as { message: unknown }
      if (typeof holder.message === 'string') holder.message = this.#reply(holder.message)
      else this.#putContent(entry.message)
    }
  }

  #putContent(message: { readonly content: unknown }): void {
    const { content } = message
    if (typeof content !== 'object' || content === null || Array.isArray(content)) return
    const holder = message as { content: unknown }
    if ('ref' in content) holder.content = this.#content(String(content.ref))
    else if ('blocks' in content && Array.isArray(content.blocks))
      holder.content = content.blocks.flatMap((each) => this.#content((each as Ref).ref) as readonly ContentBlock[])
  }

  #reply(uuid: string): unknown {
    const reply = this.#replies.get(uuid)
    if (reply === undefined) throw new TypeError(`it refers to line ${uuid}, which is missing`)
    return reply
  }

  #content(uuid: string): unknown {
    if (!this.contents.has(uuid)) throw new TypeError(`it refers to line ${uuid}, which is missing`)
    return this.contents.get(uuid)
  }
}

function isOfConversation(record: StepRecord): boolean {
  if (record.type === 'lap') return record.lap.scope === ''
  return record.type === 'start' || record.type === 'end' || record.type === 'rewind'
}
