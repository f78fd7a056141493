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
import { checkStored } from '../values/stored.ts'
import { isTranscript } from './stored-transcript.ts'

/** Why a user message is there, other than that a person wrote it. */
export type UserOrigin = 'prompt' | 'tool_results' | 'steer' | 'follow_up' | 'hook' | 'loop' | 'interruption'

const personOrigins: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['prompt', 'steer', 'follow_up'])

/** Whether a person said it, and no tool, hook or the loop itself. */
export function isOfPerson({
  origin,
}: {
  /** Where the message came from. */
  readonly origin: UserOrigin
}): boolean {
  return personOrigins.has(origin)
}

export type UserEntry = {
  readonly kind: 'user'
  readonly id: string
  readonly message: UserMessage
  readonly origin: UserOrigin
  /** The id under which it was handed in (`RunStream.steer`, `RunStream.followUp`): that message is taken. */
  readonly inboxId?: string
  /** The id of the hook that said it; absent where a stop hook sent the model back, and in records of before. */
  readonly hook?: string
  /** Placed before the prompt: the model is shown it before so many of the messages that are on record before it. */
  readonly messagesAfter?: number
  /** Structured results by call id, for programs; the model does not see them. */
  readonly details?: { readonly [callId: string]: Json }
  /** What tools have to find again in later calls (`ToolOutput.memo`), by call id. */
  readonly memos?: { readonly [callId: string]: Json }
  // Spec R-BACK-2.
  /** What it tells of work beside the run. */
  readonly tasks?: readonly TaskNote[]
  readonly goalFiles?: GoalFilesMemo
  // Spec R-VERI-4.
  /** The answer before it stays that of the run, unless the model calls a tool behind it. */
  readonly keepsAnswer?: true
}

/** What the files around the checks are held against from here on, and the goals that it is for. Shown to nobody. */
export type GoalFilesMemo = { readonly of: number; readonly memo: Json }

/** A message of the model in a transcript. */
export type AssistantEntry = {
  readonly kind: 'assistant'
  /** Id of the entry, unique in the session. */
  readonly id: string
  /** The message. */
  readonly message: AssistantMessage
  /** Set on a message that we wrote to tell of a failure: shown to people, never sent to the model. */
  readonly error?: ModelErrorKind | 'max_output_tokens'
  /** The reply was cut by an abort; what had been completed is kept. */
  readonly aborted?: true
}

/** Said to people and programs, never to the model. */
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
      /** The call after which it did; null where there was none. */
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
  /** What became of work beside the run when it ended. */
  readonly tasks?: readonly TaskNote[]
  readonly goalFiles?: GoalFilesMemo
}

/** From here on the model is shown `messages` in place of everything before. */
type CompactBoundaryEntry = {
  readonly kind: 'compact_boundary'
  readonly id: string
  readonly messages: readonly ModelMessage[]
  /** `hook`: a hook replaced what the model is shown; `manual`: whoever holds the state did. */
  readonly trigger: 'auto' | 'manual' | 'reactive' | 'collapse' | 'hook'
  readonly preTokens: number
  readonly postTokens: number
  // Spec R-CTX-14.
  /** `messages` hold what people said before, word for word: who makes them shorter again finds it in the entries before this one. */
  readonly personsWords?: 'carried'
}

/** From here on the model is shown a note in place of the results of these calls. */
type ResultsClearedEntry = {
  readonly kind: 'results_cleared'
  readonly id: string
  readonly calls: readonly string[]
  /** Tokens that this freed, estimated. */
  readonly freedTokens: number
}

// Spec R-CTX-16.
/** A summary of finished work, made beside a turn. The model is shown it once a compaction puts it in the place of these messages. */
type CollapseStagedEntry = {
  readonly kind: 'collapse_staged'
  readonly id: string
  /** The first of the messages that the model is shown, and the one after the last. */
  readonly from: number
  readonly to: number
  /** Empty where it was asked for in vain; then nothing takes the place of the messages. */
  readonly summary: string
  /** Tokens that it frees, estimated. */
  readonly freedTokens: number
}

/** From here on the model is shown a note in place of every image and document before, or of those that are named. */
type MediaRemovedEntry = {
  readonly kind: 'media_removed'
  readonly id: string
  readonly note: string
  /** Where they stand in what the model is shown up to here: message, block and, inside a result, the part of it. */
  readonly at?: readonly MediaPlace[]
}

/** One entry of a transcript. JSON; its `id` is the same in every replay. */
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
  /** The projection of the first `projected` entries. */
  messages: ModelMessage[]
  projected: number
  /** `digests[n]` is the chained hash of what entries 0 to n tell of the conversation. */
  readonly digests: number[]
  /** The one view whose `append` adds to this log; every other view's copies it first. */
  owner: Transcript | undefined
  /** Ids of the calls in the first `callsRead` entries. */
  callIds: CallIds | undefined
  callsRead: number
}

/**
 * The messages of a session, append-only. Immutable for its users: `append` returns a longer view.
 *
 * T1: no view ever changes. T2: views share one log, so a turn costs what it adds; only the log's owner, which is the view that
 * the last `append` gave, adds to it. T3: a run works on a fork and hands out views that own nothing,
 * so neither another run nor a hook can add to its log or to the list that its model was shown.
 */
export class Transcript implements Iterable<TranscriptEntry> {
  readonly #log: Log
  /** The number of entries. */
  readonly length: number

  private constructor(log: Log, length: number) {
    this.#log = log
    this.length = length
  }

  /** The view of a whole log, which owns it from now on. */
  static #ownerOf(log: Log): Transcript {
    const owner = new Transcript(log, log.entries.length)
    log.owner = owner
    return owner
  }

  /** The transcript without entries. */
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

  /** Reads what `toJSON` wrote. @throws ConfigurationError for anything else, with the place that is wrong. */
  static fromJSON(data: unknown): Transcript {
    checkStored('transcript', data, isTranscript)
    // Just looked at.
    return Transcript.of(data as readonly TranscriptEntry[])
  }

  /** A transcript with this entry at its end. */
  append(entry: TranscriptEntry): Transcript {
    return this.appendAll([entry])
  }

  /** A transcript with these entries at its end. */
  appendAll(entries: readonly TranscriptEntry[]): Transcript {
    if (entries.length === 0) return this
    const log = this.#log.owner === this ? this.#log : this.#copy()
    for (const entry of entries) log.entries.push(entry)
    return Transcript.#ownerOf(log)
  }

  /** The same entries on a log of their own: what is appended to one is seen in the other nowhere, not in `messages()` either. */
  fork(): Transcript {
    return Transcript.#ownerOf(this.#copy())
  }

  /** The same view, for handing out: it shares the log to read, and appending to it copies first. */
  copyOnAppend(): Transcript {
    return new Transcript(this.#log, this.length)
  }

  /** The entry at an index; a negative one counts from the end. Undefined out of range. */
  at(index: number): TranscriptEntry | undefined {
    const position = index < 0 ? this.length + index : index
    return position < this.length ? this.#log.entries[position] : undefined
  }

  /** Entries from `start` on, as a list of its own. */
  since(start: number): readonly TranscriptEntry[] {
    return this.#log.entries.slice(start, this.length)
  }

  /** The model's newest message from `start` on and before `end`; messages of our own that tell of a failure are passed over. */
  lastReply(start = 0, end: number = this.length): AssistantMessage | undefined {
    for (let index = end - 1; index >= start; index--) {
      const entry = this.#log.entries[index]
      if (entry?.kind === 'assistant' && entry.error === undefined) return entry.message
    }
    return undefined
  }

  /** The newest text of the model from `start` on and before `end` that is more than white space; '' for none. */
  lastText(start = 0, end: number = this.length): string {
    for (let index = end - 1; index >= start; index--) {
      const entry = this.#log.entries[index]
      if (entry?.kind !== 'assistant' || entry.error !== undefined) continue
      const text = textOf(entry.message.content)
      if (text.trim() !== '') return text
    }
    return ''
  }

  /** The place of the prompt that a run answers which began at `start`: its own, or the one before it that it continues; `start` when there is none. */
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

  /** What the model is shown. The list is shared by the views of one log and grows with it: read it, do not keep it. */
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
   * An id that no call of this conversation has, nor any of `also`: `id` itself, else with a number behind it (`id_2`).
   * Services use ids again; the Messages API takes each once in a conversation.
   */
  freeCallId(id: string, also?: ReadonlySet<string>): string {
    const log = this.#log
    if (this.length < log.callsRead) return Transcript.of(this.since(0)).freeCallId(id, also)
    const callIds = (log.callIds ??= new CallIds())
    for (; log.callsRead < this.length; log.callsRead++) readCallIds(callIds, log.entries[log.callsRead])
    return callIds.free(id, also)
  }

  /** The chained hash of the conversation in this view: of what people, the model and tools said. */
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
    // A projection of more than this view has is of no use to it.
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
 * What tells a conversation apart in a record. What a person said is taken in full. What the model said and what was called is on
 * record itself and comes back as it was, so names do. What hooks, layers and the loop itself added belongs to the program, which may change over
 * a resume: it tells nothing.
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

/** The projection of a list of entries: what a model is shown of it. */
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

/** Results come before anything else that was said since the call: also those that a person had to approve first. */
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

/** The API refuses empty text blocks; everything else goes back as it came. */
function sendable(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return content.some(isEmptyText) ? content.filter((block) => !isEmptyText(block)) : content
}

function isEmptyText(block: ContentBlock): boolean {
  return block.type === 'text' && block.text === ''
}

/** Messages that hold none of these results stay the same objects: providers and adapters know them again. */
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

/** How the note begins that takes the place of a result. */
export const clearedNoteStart = '[This result was cleared to make room: '

/** The result of a call as the model is shown it once it was cleared. */
export function clearedResult(block: ToolResultBlock): ToolResultBlock {
  const { length } = typeof block.content === 'string' ? block.content : JSON.stringify(block.content)
  const content = `${clearedNoteStart}${length} characters. Call the tool again if you need it.]`
  return { ...block, content }
}

// Spec R-TOOL-14.
/** The ids that the calls of a conversation have. */
class CallIds {
  /** By id: the lowest number that may still be free behind it. All below are taken. */
  readonly #numbers = new Map<string, number>()

  add(id: string): void {
    if (!this.#numbers.has(id)) this.#numbers.set(id, 2)
  }

  /** The id itself when no call has it, here or in `also`; else with the lowest number behind it that makes it one: `id_2`. */
  free(id: string, also?: ReadonlySet<string>): string {
    if (!this.#numbers.has(id) && also?.has(id) !== true) return id
    let number = this.#numbers.get(id) ?? 2
    while (this.#numbers.has(`${id}_${number}`)) number++
    // What is in `also` alone may never come to be, so it moves nothing on.
    if (this.#numbers.has(id)) this.#numbers.set(id, number)
    while (this.#numbers.has(`${id}_${number}`) || also?.has(`${id}_${number}`) === true) number++
    return `${id}_${number}`
  }
}
