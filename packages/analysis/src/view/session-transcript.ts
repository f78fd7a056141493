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

/** A session as a person reads it: what was said and done in each run, with its figures. */
export interface SessionTranscript {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory. */
  readonly cwd: string
  /** Its runs, in order. */
  readonly runs: readonly RunTranscript[]
}

/** One run of a session with its account and its parts in order. */
export interface RunTranscript {
  /** Why it ended, and where everything went. */
  readonly account: Account
  /** What was said and done, in order. */
  readonly parts: readonly Part[]
  /** How a person graded it; absent where nobody did. */
  readonly grade?: 'good' | 'bad'
}

/** One thing that was said or done. */
export type Part =
  | {
      readonly kind: 'person'
      /** Who said it: a person, or what spoke in their place. */
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
      /** The note, in a line. */
      readonly text: string
      /** What else there is to read; absent for nothing. */
      readonly more?: string
    }
  | CheckPart
  | TranscriptCall

/** A round of checks of the goals, between what was said: what it came to in a line, and what the check printed. */
export interface CheckPart {
  readonly kind: 'check'
  /** What the round came to. */
  readonly status: 'met' | 'unmet' | 'aborted'
  /** The round, in a line. */
  readonly text: string
  /** '' where there is nothing more to say. */
  readonly more: string
}

/** A call of a tool with what came of it. */
export interface TranscriptCall {
  readonly kind: 'call'
  /** Id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly name: string
  /** Input of the call. */
  readonly input: unknown
  /** Undefined where none is on record. */
  readonly result: MessageContent | undefined
  /** Whether the call failed. */
  readonly isError: boolean
  /** The structured result, for programs. */
  readonly details: unknown
  /** Milliseconds that it took; undefined where that is not on record. */
  readonly durationMs: number | undefined
  /** What the subagent did that answered it. */
  readonly agent: readonly Part[]
}

/** Puts together what the records tell, of a run that did not end too. */
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

/** Hears of an entry, a round of checks or a wait of the main loop where it comes, and at which part it begins. */
export type NoteEntry = (entry: RecordedEntry, place: number) => void

/** What was said, and what was checked and waited for in between. */
type RecordedEntry = TranscriptEntry | { readonly kind: 'goal_round'; readonly round: RecordedRound } | WaitEntry

/** A wait for a service, or a pause at a limit: the name of its step, and what it came to. */
interface WaitEntry {
  readonly kind: 'wait'
  readonly name: string
  readonly text: string
}

/** What was said and done in one of the runs of a session. */
export function partsOfMessages(
  runs: readonly (readonly StepRecord[])[],
  index: number,
  noteEntry: NoteEntry = () => {},
): readonly Part[] {
  const records = runs[index] ?? []
  const isOpen = index === runs.length - 1 && !records.some((record) => record.type === 'end' && record.scope === '')
  if (!isOpen) return partsOf('', new Recorded(records), noteEntry)
  const { open, transcript } = foldSession(runs)
  if (open === undefined) return partsOf('', new Recorded(records), noteEntry)
  const folded = foldRun(open, transcript)
  return partsOf('', new Recorded(open, folded.kind === 'open' ? openEntries(folded.replay) : []), noteEntry)
}

/** What the records of a run tell of each of its agents. */
class Recorded {
  /** By scope; '' is the main loop. */
  readonly entries = new Map<string, RecordedEntry[]>()
  /** Rounds of checks whose lap is still to come, by scope. */
  readonly #rounds = new Map<string, RecordedRound[]>()
  /** The same of waits. */
  readonly #waits = new Map<string, WaitInLap[]>()
  /** Scopes whose lap has its reply. */
  readonly #replied = new Set<string>()
  /** Scopes of agents, by the scope and id of their calls, as paths have it. */
  readonly #agents = new Map<string, string[]>()
  readonly #durations = new Map<string, number>()

  constructor(records: readonly StepRecord[], openTurn: readonly TranscriptEntry[] = []) {
    const rounds = new GoalRoundReader()
    const waits = new ServiceWaitReader()
    const pauses = new LimitPauseReader()
    for (const record of records) {
      const wait = waits.read(record)
      if (wait !== undefined) this.#waited(wait.scope, wait.name, serviceWaitText(wait))
      const pause = pauses.read(record)
      if (pause !== undefined) this.#waited('', pause.name, limitPauseText(pause))
      if (record.type === 'start') this.#add(record.scope, record.start.added)
      if (record.type === 'lap') this.#add(record.lap.scope, record.lap.added)
      if (record.type === 'end') this.#add(record.scope, record.added)
      if (record.type === 'result') {
        const { scope, name } = recordedStep(record.key, record.at, record.durationMs, false)
        const callId = /^tool:\d+:\d+:(.*)$/s.exec(name)?.[1]
        if (callId !== undefined) this.#durations.set(`${scope} ${callId}`, record.durationMs)
        if (isReply(name, record.value)) this.#replied.add(scope)
        const round = rounds.read(record)
        if (round !== undefined) this.#checked(round)
      }
    }
    this.#add('', openTurn)
    // Of an agent that did not end.
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
   * The scope of the subagent that a call began: `agent:3:0:CALL/` below that of the caller. Of other programs ids stand in it without slashes. Ids that are the
   * same there have their agents in their order: each is told once.
   */
  takeAgent(scope: string, callId: string): string | undefined {
    const own = this.#agents.get(`${scope} ${callId}`) ?? this.#agents.get(`${scope} ${callId.replaceAll('/', '_')}`)
    return own?.shift()
  }

  #checked(round: RecordedRound): void {
    const known = this.#rounds.get(round.scope)
    if (known === undefined) this.#rounds.set(round.scope, [round])
    else known.push(round)
  }

  #waited(scope: string, name: string, text: string): void {
    const about = { entry: { kind: 'wait', name, text }, isAfterReply: this.#replied.has(scope) } as const
    const known = this.#waits.get(scope)
    if (known === undefined) this.#waits.set(scope, [about])
    else known.push(about)
  }

  #add(scope: string, said: readonly TranscriptEntry[]): void {
    const rounds = this.#rounds.get(scope) ?? []
    this.#rounds.delete(scope)
    const waits = this.#waits.get(scope) ?? []
    this.#waits.delete(scope)
    this.#replied.delete(scope)
    const added = withWaits(withRounds(said, rounds), waits)
    const known = this.entries.get(scope)
    if (known !== undefined) {
      for (const entry of added) known.push(entry)
      return
    }
    this.entries.set(scope, [...added])
  }
}

/** What was said in one lap, with the rounds of checks that were made in it where they were made: before what the loop says of them. */
function withRounds(said: readonly TranscriptEntry[], rounds: readonly RecordedRound[]): readonly RecordedEntry[] {
  if (rounds.length === 0) return said
  const all: RecordedEntry[] = [...said]
  for (const round of rounds) {
    const from = round.place === 'baseline' ? 0 : all.findLastIndex(({ kind }) => kind === 'assistant') + 1
    const told = all.findIndex((entry, place) => place >= from && isAboutRound(entry))
    const unsaid = round.place === 'baseline' ? 0 : all.length
    all.splice(told < 0 ? unsaid : told, 0, { kind: 'goal_round', round })
  }
  return all
}

interface WaitInLap {
  readonly entry: WaitEntry
  /** The reply of the lap was there before. */
  readonly isAfterReply: boolean
}

/** The same with the waits of the lap: before its reply, or after all that was said in it. */
function withWaits(said: readonly RecordedEntry[], waits: readonly WaitInLap[]): readonly RecordedEntry[] {
  if (waits.length === 0) return said
  const reply = said.findIndex(({ kind }) => kind === 'assistant')
  const place = reply < 0 ? said.length : reply
  const entriesOf = (isAfter: boolean): readonly RecordedEntry[] =>
    waits.flatMap(({ entry, isAfterReply }) => (isAfterReply === isAfter ? [entry] : []))
  return [...said.slice(0, place), ...entriesOf(false), ...said.slice(place), ...entriesOf(true)]
}

function isReply(name: string, value: unknown): boolean {
  return name.startsWith('model:') && isJsonObject(value) && value['kind'] === 'answered'
}

/** What the loop says of a round of checks. */
function isAboutRound(entry: RecordedEntry): boolean {
  return (entry.kind === 'user' || entry.kind === 'attachment') && /(?:^|\/)goal:\d+$/.test(entry.id)
}

/** Numbers in a text by their size: `agent:9:…` comes before `agent:10:…`. */
const byPlace = new Intl.Collator('en', { numeric: true }).compare

type OpenCall = { -readonly [field in keyof TranscriptCall]: TranscriptCall[field] }

function partsOf(scope: string, recorded: Recorded, noteEntry: NoteEntry = () => {}): readonly Part[] {
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
          else parts.push(...saidParts(block))
        }
        if (entry.aborted === true) parts.push({ kind: 'note', text: 'The reply was cut here.' })
        break
      case 'user': {
        const { content } = entry.message
        if (entry.origin !== 'tool_results' || typeof content === 'string') {
          parts.push({ kind: 'person', by: people[entry.origin], content })
          break
        }
        for (const block of content) {
          const call = isToolResult(block) ? calls.get(block.tool_use_id) : undefined
          if (call === undefined || !isToolResult(block)) {
            parts.push({ kind: 'person', by: people.hook, content: [block] })
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

const people = {
  prompt: 'Prompt',
  steer: 'Said meanwhile',
  follow_up: 'Queued message',
  hook: 'From a hook',
  loop: 'From the loop',
  interruption: 'Interruption',
  tool_results: 'Results',
} as const

function saidParts(block: ContentBlock): readonly Part[] {
  if (isText(block)) return block.text.trim() === '' ? [] : [{ kind: 'answer', text: block.text }]
  if (block.type === 'thinking' && typeof block.thinking === 'string')
    return block.thinking.trim() === '' ? [] : [{ kind: 'thinking', text: block.thinking }]
  if (block.type === 'redacted_thinking')
    return [{ kind: 'note', text: 'The model thought; the service does not show it.' }]
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
      const text = `The conversation was made shorter here: from ${counted(entry.preTokens)} to ${counted(entry.postTokens)} tokens.`
      return [{ kind: 'note', text, more: saidIn(entry.messages) }]
    }
    case 'results_cleared':
      return [{ kind: 'note', text: `Old results gave way to notes: ${many(entry.calls.length, 'call')}.` }]
    case 'media_removed':
      return [{ kind: 'note', text: entry.note }]
    case 'collapse_staged':
      return []
  }
}

/** More than a conversation holds that a model is shown. In a file one text may stand in it a great many times. */
const longestConversation = 8_000_000

function saidIn(messages: readonly ModelMessage[]): string {
  let said = ''
  for (const [index, { content }] of messages.entries()) {
    if (said.length > longestConversation) return `${said}\n\n… and ${many(messages.length - index, 'more message')}`
    said += `${index === 0 ? '' : '\n\n'}${plainText(content)}`
  }
  return said
}

/** What a content says in words; other blocks by their kind. */
export function plainText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content.map((block) => (isText(block) ? block.text : `[${block.type}]`)).join('\n')
}
