import type { ContentBlock, MessageContent, ModelMessage, TranscriptEntry } from '@halting/core'
import { isJsonObject, isText, isToolResult, isToolUse } from '@halting/core/adapters'
import { accountOf, type Account } from '../account/account.ts'
import { foldRun, foldSession, type StepRecord } from '@halting/core/steps'
import { recordedStep } from '../account/recorded-steps.ts'
import { GoalRoundReader, type RecordedRound } from '../account/goal.ts'
import { LimitPauseReader } from '../account/limit-pauses.ts'
import { ServiceWaitReader } from '../account/service-waits.ts'
import { limitPauseText, serviceWaitText } from '../words/service-words.ts'
import { counted, many } from '../words/figures.ts'
import { roundDetails, roundText } from '../words/goal-words.ts'
import { agentPathOf } from './agent-path.ts'
import { jsonText } from '../words/json-text.ts'
import { replySources } from '../words/reply-sources.ts'
import { openEntries } from '../transcript/open-entries.ts'

/** A session in readable form: the transcript and figures of each run. */
export interface SessionTranscript {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory. */
  readonly cwd: string
  /** Its runs, in order. */
  readonly runs: readonly RunTranscript[]
}

/** One run of a session, with its account and the parts of its transcript. */
export interface RunTranscript {
  /** Why it ended, and where everything went. */
  readonly account: Account
  /** The transcript, in order. */
  readonly parts: readonly Part[]
  /** The grade by a person; absent for none. */
  readonly grade?: 'good' | 'bad'
}

/** One part of a transcript. */
export type Part =
  | {
      readonly kind: 'person'
      /** The author of the message: a person, or a program in their place. */
      readonly by: string
      /** The message. */
      readonly content: MessageContent
    }
  | {
      /** Whether it is part of the answer, or reasoning. */
      readonly kind: 'answer' | 'thinking'
      /** The text. */
      readonly text: string
    }
  | {
      readonly kind: 'note'
      /** The note on one line. */
      readonly text: string
      /** More text; absent for none. */
      readonly more?: string
    }
  | CheckPart
  | TranscriptCall

/** A round of goal checks: its result on one line, and the output of the check. */
export interface CheckPart {
  readonly kind: 'check'
  /** The result of the round. */
  readonly status: 'met' | 'unmet' | 'aborted'
  /** The round on one line. */
  readonly text: string
  /** More text; '' for none. */
  readonly more: string
}

/** A tool call and its result. */
export interface TranscriptCall {
  readonly kind: 'call'
  /** Id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly name: string
  /** Input of the call. */
  readonly input: unknown
  /** The result; undefined when none is recorded. */
  readonly result: MessageContent | undefined
  /** Whether the call failed. */
  readonly isError: boolean
  /** The structured result, for programs. */
  readonly details: unknown
  /** Milliseconds that it took; undefined when not recorded. */
  readonly durationMs: number | undefined
  /** The transcript of the subagent that answered it. */
  readonly agent: readonly Part[]
}

/** Builds the transcript from records, including that of a run that has not ended. */
export function sessionTranscript({
  sessionId,
  cwd,
  runs,
}: Pick<SessionTranscript, 'sessionId' | 'cwd'> & {
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
}): SessionTranscript {
  return {
    sessionId,
    cwd,
    runs: runs.map((records, index) => ({ account: accountOf(records), parts: partsOfMessages(runs, index) })),
  }
}

/** Receives each entry, round of checks or wait of the main loop, with the index of its first part. */
export type NoteEntry = (entry: RecordedEntry, place: number) => void

/** Entries of the transcript, with rounds of checks and waits between them. */
type RecordedEntry = TranscriptEntry | { readonly kind: 'goal_round'; readonly round: RecordedRound } | WaitEntry

/** A wait for a service, or a pause at a limit: the name of its step, and a description. */
interface WaitEntry {
  readonly kind: 'wait'
  readonly name: string
  readonly text: string
}

/** The transcript of one run of a session. */
export function partsOfMessages(
  runs: readonly (readonly StepRecord[])[],
  index: number,
  noteEntry: NoteEntry = () => {},
): readonly Part[] {
  const records = runs[index] ?? []
  const isOpen = index === runs.length - 1 && !records.some((record) => record.type === 'end' && record.scope === '')
  if (!isOpen) return partsOf('', new RecordedEntries(records), noteEntry)
  const { open, transcript } = foldSession(runs)
  if (open === undefined) return partsOf('', new RecordedEntries(records), noteEntry)
  const folded = foldRun(open, transcript)
  return partsOf('', new RecordedEntries(open, folded.kind === 'open' ? openEntries(folded.replay) : []), noteEntry)
}

/** What the records of a run contain for its main loop and each of its agents. */
class RecordedEntries {
  /** Entries by scope; '' is the main loop. */
  readonly entries = new Map<string, RecordedEntry[]>()
  /** Rounds of checks before the end of their iteration, by scope. */
  readonly #rounds = new Map<string, RecordedRound[]>()
  /** Waits before the end of their iteration, by scope. */
  readonly #waits = new Map<string, WaitInIteration[]>()
  /** Scopes whose current iteration has a reply. */
  readonly #replied = new Set<string>()
  /** Scopes of agents, by the scope and id of their calls. */
  readonly #agents = new Map<string, string[]>()
  readonly #durations = new Map<string, number>()

  constructor(records: readonly StepRecord[], openTurn: readonly TranscriptEntry[] = []) {
    const rounds = new GoalRoundReader()
    const waits = new ServiceWaitReader()
    const pauses = new LimitPauseReader()
    for (const record of records) {
      const wait = waits.read(record)
      if (wait !== undefined) this.#addWait(wait.scope, wait.name, serviceWaitText(wait))
      const pause = pauses.read(record)
      if (pause !== undefined) this.#addWait('', pause.name, limitPauseText(pause))
      if (record.type === 'start') this.#add(record.scope, record.start.added)
      if (record.type === 'lap') this.#add(record.lap.scope, record.lap.added)
      if (record.type === 'end') this.#add(record.scope, record.added)
      if (record.type === 'result') {
        const { scope, name } = recordedStep(record.key, record.at, record.durationMs, false)
        const callId = /^tool:\d+:\d+:(.*)$/s.exec(name)?.[1]
        if (callId !== undefined) this.#durations.set(`${scope} ${callId}`, record.durationMs)
        if (isReply(name, record.value)) this.#replied.add(scope)
        const round = rounds.read(record)
        if (round !== undefined) this.#addRound(round)
      }
    }
    this.#add('', openTurn)
    // Agents that have not ended.
    for (const scope of [...this.#rounds.keys(), ...this.#waits.keys()]) this.#add(scope, [])
    for (const scope of [...this.entries.keys()].toSorted(byPlace)) {
      const path = agentPathOf(scope, (caller) => this.entries.has(caller))
      if (path === undefined) continue
      const key = `${path.caller} ${path.callId}`
      const scopes = this.#agents.get(key)
      if (scopes === undefined) this.#agents.set(key, [scope])
      else scopes.push(scope)
    }
  }

  durationOf(scope: string, callId: string): number | undefined {
    return this.#durations.get(`${scope} ${callId}`)
  }

  /**
   * Takes the scope of the subagent that a call started: `agent:3:0:CALL/` below the caller's scope. Ids of other programs have their slashes
   * replaced there. Several agents with the same id are taken in order.
   */
  takeAgent(scope: string, callId: string): string | undefined {
    const own = this.#agents.get(`${scope} ${callId}`) ?? this.#agents.get(`${scope} ${callId.replaceAll('/', '_')}`)
    return own?.shift()
  }

  #addRound(round: RecordedRound): void {
    const known = this.#rounds.get(round.scope)
    if (known === undefined) this.#rounds.set(round.scope, [round])
    else known.push(round)
  }

  #addWait(scope: string, name: string, text: string): void {
    const about = { entry: { kind: 'wait', name, text }, isAfterReply: this.#replied.has(scope) } as const
    const known = this.#waits.get(scope)
    if (known === undefined) this.#waits.set(scope, [about])
    else known.push(about)
  }

  #add(scope: string, entries: readonly TranscriptEntry[]): void {
    const rounds = this.#rounds.get(scope) ?? []
    this.#rounds.delete(scope)
    const waits = this.#waits.get(scope) ?? []
    this.#waits.delete(scope)
    this.#replied.delete(scope)
    const added = withWaits(withRounds(entries, rounds), waits)
    const known = this.entries.get(scope)
    if (known !== undefined) {
      for (const entry of added) known.push(entry)
      return
    }
    this.entries.set(scope, [...added])
  }
}

/** Inserts the rounds of checks of an iteration into its entries, before what the loop says about them. */
function withRounds(entries: readonly TranscriptEntry[], rounds: readonly RecordedRound[]): readonly RecordedEntry[] {
  if (rounds.length === 0) return entries
  const all: RecordedEntry[] = [...entries]
  for (const round of rounds) {
    const from = round.place === 'baseline' ? 0 : all.findLastIndex(({ kind }) => kind === 'assistant') + 1
    const reported = all.findIndex((entry, place) => place >= from && isAboutRound(entry))
    const unreported = round.place === 'baseline' ? 0 : all.length
    all.splice(reported < 0 ? unreported : reported, 0, { kind: 'goal_round', round })
  }
  return all
}

interface WaitInIteration {
  readonly entry: WaitEntry
  /** Whether the reply of the iteration was recorded before the wait. */
  readonly isAfterReply: boolean
}

/** Inserts the waits of an iteration: before its reply, or after all of its entries. */
function withWaits(entries: readonly RecordedEntry[], waits: readonly WaitInIteration[]): readonly RecordedEntry[] {
  if (waits.length === 0) return entries
  const reply = entries.findIndex(({ kind }) => kind === 'assistant')
  const place = reply < 0 ? entries.length : reply
  const entriesOf = (isAfter: boolean): readonly RecordedEntry[] =>
    waits.flatMap(({ entry, isAfterReply }) => (isAfterReply === isAfter ? [entry] : []))
  return [...entries.slice(0, place), ...entriesOf(false), ...entries.slice(place), ...entriesOf(true)]
}

function isReply(name: string, value: unknown): boolean {
  return name.startsWith('model:') && isJsonObject(value) && value['kind'] === 'answered'
}

/** Whether an entry is the loop's message about a round of checks. */
function isAboutRound(entry: RecordedEntry): boolean {
  return (entry.kind === 'user' || entry.kind === 'attachment') && /(?:^|\/)goal:\d+$/.test(entry.id)
}

/** Compares numbers in a text by value: `agent:9:…` comes before `agent:10:…`. */
const byPlace = new Intl.Collator('en', { numeric: true }).compare

type OpenCall = { -readonly [field in keyof TranscriptCall]: TranscriptCall[field] }

function partsOf(scope: string, recorded: RecordedEntries, noteEntry: NoteEntry = () => {}): readonly Part[] {
  const parts: Part[] = []
  const calls = new Map<string, OpenCall>()
  const open = (id: string, name: string, input: unknown): void => {
    const agent = recorded.takeAgent(scope, id)
    const call: OpenCall = {
      kind: 'call',
      callId: id,
      name,
      input,
      result: undefined,
      isError: false,
      details: undefined,
      durationMs: recorded.durationOf(scope, id),
      agent: agent === undefined ? [] : partsOf(agent, recorded),
    }
    calls.set(id, call)
    parts.push(call)
  }
  for (const entry of recorded.entries.get(scope) ?? []) {
    noteEntry(entry, parts.length)
    switch (entry.kind) {
      case 'assistant':
        for (const block of entry.message.content) {
          if (isToolUse(block)) open(block.id, block.name, block.input)
          else parts.push(...replyParts(block))
        }
        if (entry.aborted === true) parts.push({ kind: 'note', text: 'The reply was cut off here.' })
        break
      case 'user': {
        const { content } = entry.message
        if (entry.origin !== 'tool_results' || typeof content === 'string') {
          parts.push({ kind: 'person', by: personNames[entry.origin], content })
          break
        }
        for (const block of content) {
          const call = isToolResult(block) ? calls.get(block.tool_use_id) : undefined
          if (call === undefined || !isToolResult(block)) {
            parts.push({ kind: 'person', by: personNames.hook, content: [block] })
            continue
          }
          call.result = block.content
          call.isError = block.is_error === true
          call.details = entry.details?.[block.tool_use_id]
        }
        break
      }
      case 'goal_round': {
        const { round } = entry
        const status = round.isCut ? 'aborted' : round.met ? 'met' : 'unmet'
        parts.push({ kind: 'check', status, text: roundText(round), more: roundDetails(round) })
        break
      }
      case 'wait':
        parts.push({ kind: 'note', text: `${entry.text}.` })
        break
      case 'attachment':
      case 'compact_boundary':
      case 'results_cleared':
      case 'collapse_staged':
      case 'media_removed':
        parts.push(...noteParts(entry))
    }
  }
  return parts
}

const personNames = {
  prompt: 'Prompt',
  steer: 'Steering message',
  follow_up: 'Queued message',
  hook: 'From a hook',
  loop: 'From the loop',
  interruption: 'Interruption',
  tool_results: 'Results',
} as const

function replyParts(block: ContentBlock): readonly Part[] {
  if (isText(block)) return block.text.trim() === '' ? [] : [{ kind: 'answer', text: block.text }]
  if (block.type === 'thinking' && typeof block.thinking === 'string')
    return block.thinking.trim() === '' ? [] : [{ kind: 'thinking', text: block.thinking }]
  if (block.type === 'redacted_thinking')
    return [{ kind: 'note', text: 'The service does not show what the model thought here.' }]
  if (block.type === 'image') return [{ kind: 'person', by: 'Image that the model made', content: [block] }]
  const sources = replySources(block)
  if (sources.length > 0) return [{ kind: 'note', text: 'Sources of the answer', more: sources.join('\n') }]
  return [{ kind: 'note', text: `A block of the service: ${block.type}`, more: jsonText(block) }]
}

function noteParts(entry: Exclude<TranscriptEntry, { readonly kind: 'user' | 'assistant' }>): readonly Part[] {
  switch (entry.kind) {
    case 'attachment': {
      const { attachment } = entry
      if (attachment.type === 'max_turns_reached')
        return [{ kind: 'note', text: `The limit of ${many(attachment.maxTurns, 'turn')} was reached.` }]
      return [{ kind: 'note', text: attachment.message }]
    }
    case 'compact_boundary': {
      const text = `The conversation was compacted here, from ${counted(entry.preTokens)} to ${counted(entry.postTokens)} tokens.`
      return [{ kind: 'note', text, more: textOfMessages(entry.messages) }]
    }
    case 'results_cleared':
      return [{ kind: 'note', text: `Old results were replaced by notes: ${many(entry.calls.length, 'call')}.` }]
    case 'media_removed':
      return [{ kind: 'note', text: entry.note }]
    case 'collapse_staged':
      return []
  }
}

/** Maximum number of characters, more than any context window holds, because a file may repeat one text very often. */
const maxConversationLength = 8_000_000

function textOfMessages(messages: readonly ModelMessage[]): string {
  let text = ''
  for (const [index, { content }] of messages.entries()) {
    if (text.length > maxConversationLength) return `${text}\n\n… and ${many(messages.length - index, 'more message')}`
    text += `${index === 0 ? '' : '\n\n'}${plainText(content)}`
  }
  return text
}

/** The text of a content; other blocks appear as their type. */
export function plainText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content.map((block) => (isText(block) ? block.text : `[${block.type}]`)).join('\n')
}
