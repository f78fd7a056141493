import type { TaskNote } from '../verification/background.ts'
import { hashText } from '../values/hash.ts'
import type { Json } from '../values/json.ts'
import { withoutMedia, type MediaPlace } from '../model/media/places.ts'
import {
  isToolResult,
  isToolUse,
  textOf,
  type AssistantMessage,
  type ContentBlock,
  type ModelMessage,
  type ToolResultBlock,
  type UserMessage,
} from '../model/messages.ts'
import type { ModelErrorKind } from '../model/model-error.ts'
import { checkStored } from '../values/stored-checks.ts'
import { isTranscript } from './stored-transcript.ts'

/** The source of a user message: a person, tools, hooks or the loop. */
export type UserOrigin = 'prompt' | 'tool_results' | 'steer' | 'follow_up' | 'hook' | 'loop' | 'interruption'

const personOrigins: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['prompt', 'steer', 'follow_up'])

/** Whether a person wrote it, not a tool, a hook or the loop. */
export function isOfPerson({
  origin,
}: {
  /** The source of the message. */
  readonly origin: UserOrigin
}): boolean {
  return personOrigins.has(origin)
}

export type UserEntry = {
  readonly kind: 'user'
  readonly id: string
  readonly message: UserMessage
  readonly origin: UserOrigin
  /** The id that the caller gave the message (`RunStream.steer`, `RunStream.followUp`). An entry with it means that the run took the message. */
  readonly inboxId?: string
  /** The id of the hook that wrote it. Absent if a stop hook sent the model back, and in older records. */
  readonly hook?: string
  /** Number of previously recorded messages that follow this one in the model's view. Set for a message that a hook placed before the prompt. */
  readonly messagesAfter?: number
  /** Structured results by call id, for programs. The model does not receive them. */
  readonly details?: { readonly [callId: string]: Json }
  /** Data that tools need in later calls (`ToolOutput.memo`), by call id. */
  readonly memos?: { readonly [callId: string]: Json }
  // Spec R-BACK-2.
  /** What the message reports about background tasks. */
  readonly tasks?: readonly TaskNote[]
  readonly goalFiles?: GoalFilesMemo
  // Spec R-VERI-4.
  /** The previous answer remains the answer of the run, unless the model calls a tool afterwards. */
  readonly keepsAnswer?: true
}

/** The file state that later goal checks compare with, and a digest of the goals that it belongs to. Neither the model nor people receive it. */
export type GoalFilesMemo = { readonly of: number; readonly memo: Json }

/** A message of the model in a transcript. */
export type AssistantEntry = {
  readonly kind: 'assistant'
  /** Id of the entry, unique in the session. */
  readonly id: string
  /** The message. */
  readonly message: AssistantMessage
  /** Set on a message that the loop wrote to report a failure. It is shown to people and never sent to the model. */
  readonly error?: ModelErrorKind | 'max_output_tokens'
  /** Whether an abort interrupted the reply. Its completed part is preserved. */
  readonly aborted?: true
}

/** For people and programs; never sent to the model. */
export type Attachment =
  | {
      readonly type: 'max_turns_reached'
      /** The limit on turns. */
      readonly maxTurns: number
      /** Turns of the run. */
      readonly turnCount: number
    }
  | {
      readonly type: 'hook_stopped_continuation'
      /** Id of the hook. */
      readonly hook: string
      /** Why it stopped the run. */
      readonly message: string
      /** The call after which the hook stopped the run; null if there was none. */
      readonly callId: string | null
    }
  | {
      readonly type: 'informational'
      /** A sentence for a person. */
      readonly message: string
    }

type AttachmentEntry = {
  readonly kind: 'attachment'
  readonly id: string
  readonly attachment: Attachment
  /** What happened to background tasks when the run ended. */
  readonly tasks?: readonly TaskNote[]
  readonly goalFiles?: GoalFilesMemo
}

/** A boundary: `messages` replace all earlier messages in the model's view. */
type CompactBoundaryEntry = {
  readonly kind: 'compact_boundary'
  readonly id: string
  readonly messages: readonly ModelMessage[]
  /** `hook`: a hook replaced the messages; `manual`: the owner of the state did. */
  readonly trigger: 'auto' | 'manual' | 'reactive' | 'collapse' | 'hook'
  readonly preTokens: number
  readonly postTokens: number
  // Spec R-CTX-14.
  /** `messages` contain people's earlier messages verbatim. The next compaction reads them from the entries before this one. */
  readonly personsWords?: 'carried'
}

/** A marker: notes replace the results of these calls in the model's view. */
type ResultsClearedEntry = {
  readonly kind: 'results_cleared'
  readonly id: string
  readonly calls: readonly string[]
  /** Estimated tokens that this freed. */
  readonly freedTokens: number
}

// Spec R-CTX-16.
/** A summary of finished work, made in parallel with a turn. The model receives it once a compaction replaces these messages by it. */
type CollapseStagedEntry = {
  readonly kind: 'collapse_staged'
  readonly id: string
  /** Index of the first of these messages in the model's view; `to` is the index after the last. */
  readonly from: number
  readonly to: number
  /** Empty if the request for a summary failed. Then nothing replaces the messages. */
  readonly summary: string
  /** Estimated tokens that it frees. */
  readonly freedTokens: number
}

/** A marker: a note replaces the preceding images and documents in the model's view, either all of them or those in `at`. */
type MediaRemovedEntry = {
  readonly kind: 'media_removed'
  readonly id: string
  readonly note: string
  /** Their positions in the model's view up to this entry: message, block and, inside a result, the part of the result. */
  readonly at?: readonly MediaPlace[]
}

/** One entry of a transcript. JSON. Its `id` is the same in every replay. */
export type TranscriptEntry =
  | UserEntry
  | AssistantEntry
  | AttachmentEntry
  | CompactBoundaryEntry
  | ResultsClearedEntry
  | CollapseStagedEntry
  | MediaRemovedEntry

interface Log {
  readonly entries: TranscriptEntry[]
  /** The model's view of the first `projected` entries. */
  messages: ModelMessage[]
  projected: number
  /** `digests[n]` is the chained hash of the conversation in entries 0 to n. */
  readonly digests: number[]
  /** The only view whose `append` adds to this log. Other views copy the log first. */
  owner: Transcript | undefined
  /** Ids of the calls in the first `callsRead` entries. */
  callIds: CallIds | undefined
  callsRead: number
}

/**
 * The messages of a session, append-only. Immutable for callers: `append` returns a longer view.
 *
 * T1: no view ever changes.
 * T2: views share one log, so a turn costs what it adds. Only the owner adds to the log: the view that the last `append`
 * returned.
 * T3: a run works on a fork and returns views that own nothing. So neither another run nor a hook can add to its log or
 * to its model's list of messages.
 */
export class Transcript implements Iterable<TranscriptEntry> {
  readonly #log: Log
  /** The number of entries. */
  readonly length: number

  private constructor(log: Log, length: number) {
    this.#log = log
    this.length = length
  }

  /** The view of a whole log, which becomes its owner. */
  static #ownerOf(log: Log): Transcript {
    const owner = new Transcript(log, log.entries.length)
    log.owner = owner
    return owner
  }

  /** An empty transcript. */
  static empty(): Transcript {
    return Transcript.of([])
  }

  /** A transcript of these entries. */
  static of(entries: readonly TranscriptEntry[]): Transcript {
    return Transcript.#ownerOf({
      entries: [...entries],
      messages: [],
      projected: 0,
      digests: [],
      owner: undefined,
      callIds: undefined,
      callsRead: 0,
    })
  }

  /** Reads the result of `toJSON`. @throws ConfigurationError for anything else, with the path of the invalid part. */
  static fromJSON(data: unknown): Transcript {
    checkStored('transcript', data, isTranscript)
    // Validated above.
    return Transcript.of(data as readonly TranscriptEntry[])
  }

  /** A transcript with this entry added. */
  append(entry: TranscriptEntry): Transcript {
    return this.appendAll([entry])
  }

  /** A transcript with these entries added. */
  appendAll(entries: readonly TranscriptEntry[]): Transcript {
    if (entries.length === 0) return this
    const log = this.#log.owner === this ? this.#log : this.#copy()
    for (const entry of entries) log.entries.push(entry)
    return Transcript.#ownerOf(log)
  }

  /** The same entries in a separate log: changes to one, including its `messages()`, never appear in the other. */
  fork(): Transcript {
    return Transcript.#ownerOf(this.#copy())
  }

  /** The same view, for callers outside the run. It shares the log for reading, and appending to it copies the log first. */
  copyOnAppend(): Transcript {
    return new Transcript(this.#log, this.length)
  }

  /** The entry at an index; a negative index counts from the end. Undefined out of range. */
  at(index: number): TranscriptEntry | undefined {
    const position = index < 0 ? this.length + index : index
    return position < this.length ? this.#log.entries[position] : undefined
  }

  /** A new list of the entries from `start` on. */
  since(start: number): readonly TranscriptEntry[] {
    return this.#log.entries.slice(start, this.length)
  }

  /** The model's newest message between `start` and `end`. Messages of the loop that report a failure are skipped. */
  lastReply(start = 0, end: number = this.length): AssistantMessage | undefined {
    for (let index = end - 1; index >= start; index--) {
      const entry = this.#log.entries[index]
      if (entry?.kind === 'assistant' && entry.error === undefined) return entry.message
    }
    return undefined
  }

  /** The model's newest text between `start` and `end` that is not only white space; '' for none. */
  lastText(start = 0, end: number = this.length): string {
    for (let index = end - 1; index >= start; index--) {
      const entry = this.#log.entries[index]
      if (entry?.kind !== 'assistant' || entry.error !== undefined) continue
      const text = textOf(entry.message.content)
      if (text.trim() !== '') return text
    }
    return ''
  }

  /** Index of the prompt that a run from `start` answers: its own, or an earlier one that it continues; `start` without a prompt. */
  promptOf(start: number): number {
    const { entries } = this.#log
    for (let index = start; index < this.length; index++) {
      const entry = entries[index]
      if (entry !== undefined && isPrompt(entry)) return index
      if (entry?.kind === 'assistant') break
    }
    const before = entries.slice(0, start).findLastIndex(isPrompt)
    return before === -1 ? start : before
  }

  /** The model's view of the conversation. Views of one log share the list, which grows with the log: read it, do not store it. */
  messages(): readonly ModelMessage[] {
    const log = this.#log
    if (this.length < log.projected) return project(log.entries.slice(0, this.length))
    for (; log.projected < this.length; log.projected++) {
      const entry = log.entries[log.projected]
      if (entry !== undefined) log.messages = projectEntry(log.messages, entry)
    }
    return log.messages
  }

  /**
   * An id that no call of this conversation has, nor any in `also`: `id` itself, else with a number appended (`id_2`).
   * Services reuse ids, but the Messages API requires unique ones in a conversation.
   */
  freeCallId(id: string, also?: ReadonlySet<string>): string {
    const log = this.#log
    if (this.length < log.callsRead) return Transcript.of(this.since(0)).freeCallId(id, also)
    const callIds = (log.callIds ??= new CallIds())
    for (; log.callsRead < this.length; log.callsRead++) readCallIds(callIds, log.entries[log.callsRead])
    return callIds.free(id, also)
  }

  /** The chained hash of the conversation in this view, which covers the messages of people, the model and tools. */
  digest(): number {
    const { digests, entries } = this.#log
    for (let index = digests.length; index < this.length; index++) {
      const entry = entries[index]
      if (entry === undefined) continue
      const before = digests[index - 1] ?? 0
      const identity = identityOf(entry)
      digests.push(identity === undefined ? before : hashText(identity, before))
    }
    return this.length === 0 ? 0 : (digests[this.length - 1] ?? 0)
  }

  /** Iterates over the entries, the oldest first. */
  *[Symbol.iterator](): Iterator<TranscriptEntry> {
    for (let index = 0; index < this.length; index++) {
      const entry = this.#log.entries[index]
      if (entry !== undefined) yield entry
    }
  }

  /** The entries, for JSON. */
  toJSON(): readonly TranscriptEntry[] {
    return this.since(0)
  }

  #copy(): Log {
    const { entries, messages, projected, digests } = this.#log
    // A projection of more entries than this view has cannot be used.
    const isProjected = projected <= this.length
    return {
      entries: entries.slice(0, this.length),
      messages: isProjected ? [...messages] : [],
      projected: isProjected ? projected : 0,
      digests: digests.slice(0, this.length),
      owner: undefined,
      callIds: undefined,
      callsRead: 0,
    }
  }
}

function isPrompt(entry: TranscriptEntry): boolean {
  return entry.kind === 'user' && entry.origin === 'prompt'
}

function readCallIds(callIds: CallIds, entry: TranscriptEntry | undefined): void {
  if (entry?.kind === 'assistant') addCallIds(callIds, entry.message.content)
  if (entry?.kind !== 'compact_boundary') return
  for (const { role, content } of entry.messages) if (role === 'assistant') addCallIds(callIds, content)
}

function addCallIds(callIds: CallIds, content: readonly ContentBlock[]): void {
  for (const block of content) if (isToolUse(block)) callIds.add(block.id)
}

// Spec R-RES-12.
/**
 * The part of an entry that identifies a conversation in a record. The whole message of a person is included. The
 * model's messages and calls are recorded and replayed unchanged, so their names suffice. Messages of hooks, context
 * layers and the loop are not included: they depend on the program, which may change before a resume.
 */
function identityOf(entry: TranscriptEntry): string | undefined {
  if (entry.kind === 'assistant') return `${entry.message.id} ${entry.message.content.length}`
  if (entry.kind !== 'user' || ofTheProgram.has(entry.origin)) return undefined
  if (entry.origin !== 'tool_results') return JSON.stringify(entry.message.content)
  let identity = 'results'
  for (const block of entry.message.content) {
    if (typeof block !== 'string' && block.type === 'tool_result') identity += ` ${block.tool_use_id}`
  }
  return identity
}

const ofTheProgram: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['hook', 'loop', 'interruption'])

/** The model's view of a list of entries. */
export function project(entries: readonly TranscriptEntry[]): ModelMessage[] {
  let messages: ModelMessage[] = []
  for (const entry of entries) messages = projectEntry(messages, entry)
  return messages
}

function projectEntry(messages: ModelMessage[], entry: TranscriptEntry): ModelMessage[] {
  switch (entry.kind) {
    case 'user':
      return projectUser(messages, entry)
    case 'assistant': {
      if (entry.error !== undefined) return messages
      const content = sendable(entry.message.content)
      if (content.length > 0) messages.push(shownMessage(entry.message, content))
      return messages
    }
    case 'attachment':
    case 'collapse_staged':
      return messages
    case 'compact_boundary':
      return [...entry.messages]
    case 'results_cleared':
      return withoutResults(messages, new Set(entry.calls))
    case 'media_removed':
      return withoutMedia(messages, entry.note, entry.at)
  }
}

function shownMessage({ by, container }: AssistantMessage, content: readonly ContentBlock[]): ModelMessage {
  if (container !== undefined)
    return by === undefined ? { role: 'assistant', content, container } : { role: 'assistant', content, by, container }
  return by === undefined ? { role: 'assistant', content } : { role: 'assistant', content, by }
}

/** Results precede every other message since the call, including results of calls that a person had to approve first. */
function projectUser(messages: ModelMessage[], { message, origin, messagesAfter = 0 }: UserEntry): ModelMessage[] {
  let position = Math.max(0, messages.length - messagesAfter)
  if (origin === 'tool_results') while (position > 0 && isRemark(messages[position - 1])) position--
  if (position < messages.length) return [...messages.slice(0, position), message, ...messages.slice(position)]
  messages.push(message)
  return messages
}

function isRemark(message: ModelMessage | undefined): boolean {
  if (message?.role !== 'user') return false
  return typeof message.content === 'string' || !message.content.some((block) => block.type === 'tool_result')
}

/** Removes empty text blocks, which the API refuses; everything else is unchanged. */
function sendable(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return content.some(isEmptyText) ? content.filter((block) => !isEmptyText(block)) : content
}

function isEmptyText(block: ContentBlock): boolean {
  return block.type === 'text' && block.text === ''
}

/** Messages without these results are the same objects, so that providers and adapters recognize them. */
function withoutResults(messages: readonly ModelMessage[], calls: ReadonlySet<string>): ModelMessage[] {
  return messages.map((message) => {
    const { role, content } = message
    if (role !== 'user' || typeof content === 'string') return message
    const isCleared = (block: ContentBlock): block is ToolResultBlock =>
      isToolResult(block) && calls.has(block.tool_use_id)
    if (!content.some(isCleared)) return message
    return { ...message, content: content.map((block) => (isCleared(block) ? clearedResult(block) : block)) }
  })
}

/** How the note that replaces a result begins. */
export const clearedNoteStart = '[This result was cleared to make room: '

/** The result of a call in the model's view after pruning. */
export function clearedResult(block: ToolResultBlock): ToolResultBlock {
  const { length } = typeof block.content === 'string' ? block.content : JSON.stringify(block.content)
  const content = `${clearedNoteStart}${length} characters. Call the tool again if you need it.]`
  return { ...block, content }
}

// Spec R-TOOL-14.
/** The call ids of a conversation. */
class CallIds {
  /** By id: the lowest number that may still be free as a suffix. All lower ones are taken. */
  readonly #numbers = new Map<string, number>()

  add(id: string): void {
    if (!this.#numbers.has(id)) this.#numbers.set(id, 2)
  }

  /** Returns the id itself if no call in this set or in `also` has it, or else the id with the lowest number that makes it unique: `id_2`. */
  free(id: string, also?: ReadonlySet<string>): string {
    if (!this.#numbers.has(id) && also?.has(id) !== true) return id
    let number = this.#numbers.get(id) ?? 2
    while (this.#numbers.has(`${id}_${number}`)) number++
    // Ids in `also` alone may never be used, so they do not advance the number.
    if (this.#numbers.has(id)) this.#numbers.set(id, number)
    while (this.#numbers.has(`${id}_${number}`) || also?.has(`${id}_${number}`) === true) number++
    return `${id}_${number}`
  }
}
