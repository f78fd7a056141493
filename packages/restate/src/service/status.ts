import type { LimitRequest } from '@halting/core'
import { inputSummary, isJsonObject, textOf } from '@halting/core/adapters'
import type { EndedRun, PendingApproval, RunStart, StepRecord } from '@halting/core/steps'
import type { ObjectState } from './conversation.ts'
import type { Stall } from './stall.ts'
import type { Tenancy } from './tenancy.ts'

/** A call that waits for permission. */
export interface OpenQuestion {
  /** Id of the call. */
  readonly callId: string
  /** The step that waits. */
  readonly key: string
  /** Name of the tool. Absent if the record lacks the call, and for questions of earlier versions. */
  readonly toolName?: string
  /** Summary of the call's input, such as its command: one line of at most 200 characters. Absent when `toolName` is. */
  readonly about?: string
}

/** A request that waits for its service. Times in milliseconds since 1970. */
export interface OpenWait {
  /** The step that waits. */
  readonly key: string
  readonly sinceMs: number
  readonly untilMs: number
}

/** Status of a session, derived from its records. JSON. */
export interface SessionStatus {
  /** `paused`: the work has stalled; `stalled` says why. */
  readonly state: 'idle' | 'running' | 'requires_action' | 'paused'
  /** Why the work has stalled; absent while it continues. */
  readonly stalled?: Stall
  /** When the first record of the session was stored, in milliseconds since 1970. Absent before, and for sessions of earlier versions. */
  readonly beganMs?: number
  /** When the last record of the session was stored, in milliseconds since 1970. Absent before, and for sessions of earlier versions that have not worked since. */
  readonly changedMs?: number
  /**
   * Totals of earlier runs, excluding what the current or last run carried over from them. Together with its figures, they are the totals of the session. Absent for nothing, and
   * for sessions of earlier versions.
   */
  readonly earlier?: {
    /** Turns. */
    readonly turns: number
    /** US dollars, including charges at the worst case. */
    readonly usd: number
    /** Input and output tokens. */
    readonly tokens: number
  }
  /** Number of runs. Absent before the first, and for sessions of earlier versions. */
  readonly runs?: number
  /** The first prompt: one line of at most 100 characters. Absent before, and if it had no text. */
  readonly title?: string
  /** The tenant whose budget the session spends from; absent for none. */
  readonly tenant?: string
  /** Id of the current run, or of the last one; absent before the first. */
  readonly runId?: string
  /** Why the last run ended. */
  readonly reason?: string
  /** Turns, dollars and tokens of the current or last run, including what it may have spent. */
  readonly turns: number
  /** US dollars. */
  readonly usd: number
  /** The part of `usd` charged at the worst case, because the usage of a request is unknown. Absent for nothing. */
  readonly unknownUsd?: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Calls that wait for a person. */
  readonly questions: readonly OpenQuestion[]
  /** Requests of the run and of its agents that wait for their services; absent for none. */
  readonly waits?: readonly OpenWait[]
  /** The question at a limit at which the run pauses; absent if the run does not pause. */
  readonly limitQuestion?: LimitRequest
  /** Number of records of the session. */
  readonly records: number
  /** Where the worker at work serves live events; absent if there is no such worker. */
  readonly live?: string
}

const newStatus: SessionStatus = Object.freeze({
  state: 'idle',
  turns: 0,
  usd: 0,
  tokens: 0,
  questions: [],
  records: 0,
})

export const statusKey = 'status'

export async function readStatus(state: Pick<ObjectState, 'get'>): Promise<SessionStatus> {
  return (await state.get<SessionStatus>(statusKey)) ?? newStatus
}

/** Adds the tenant whose budget the session spends from. */
export function withTenant(status: SessionStatus, tenancy: Tenancy | undefined): SessionStatus {
  return tenancy === undefined ? status : { ...status, tenant: tenancy.tenant }
}

/** Key of the step that records the question at a limit. Another step waits for the answer. */
const limitQuestion = /\/limit_question:\d+:/

/** Key of the step that waits for a service, in place of a retry. */
const serviceWait = /\.service$/

const approval = /\/approval:\d+:\d+:(.+)$/

/** Facts about a batch of records that they do not contain. */
export interface RecordedMoment {
  /** When they were put on record, in milliseconds since 1970. */
  readonly atMs?: number | undefined
  /** The calls that wait for an answer at that time, with their inputs. */
  readonly pending?: () => readonly PendingApproval[]
}

/** The status after further records. */
export function statusAfter(
  before: SessionStatus,
  records: readonly StepRecord[],
  { atMs, pending }: RecordedMoment = {},
): SessionStatus {
  const after = describeNewQuestions(records.reduce(afterRecord, before), before, pending)
  if (atMs === undefined) return after
  const beganMs = before.records === 0 ? atMs : before.beganMs
  return { ...after, changedMs: atMs, ...(beganMs !== undefined && { beganMs }) }
}

/** Adds tool names and summaries to new questions. */
function describeNewQuestions(
  status: SessionStatus,
  before: SessionStatus,
  pending: RecordedMoment['pending'],
): SessionStatus {
  const isNew = (question: OpenQuestion): boolean => !before.questions.includes(question)
  if (pending === undefined || !status.questions.some(isNew)) return status
  const calls = pending()
  const questions = status.questions.map((question): OpenQuestion => {
    const call = isNew(question) ? calls.find(({ key }) => key === question.key) : undefined
    return call === undefined || call.tool === ''
      ? question
      : { ...question, toolName: call.tool, about: summaryOf(call.input) }
  })
  return { ...status, questions }
}

/** In UTF-16 units. */
const maxSummaryLength = 200
const maxTitleLength = 100

/** In one line, with visible line ends. */
function summaryOf(input: unknown): string {
  if (isJsonObject(input) && Object.keys(input).length === 0) return ''
  return truncate(inputSummary(input).replaceAll(/\r\n|\r|\n/g, '⏎'), maxSummaryLength)
}

/** Marks a truncated text with an ellipsis. */
function truncate(text: string, longest: number): string {
  if (text.length <= longest) return text
  return `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Adds the title: the first prompt. */
function withTitle(status: SessionStatus, added: RunStart['added']): SessionStatus {
  if (status.title !== undefined) return status
  const said = added.find((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  const content = said?.kind === 'user' ? said.message.content : ''
  const title = truncate(textOf(content).slice(0, 4_096).replaceAll(/\s+/g, ' ').trim(), maxTitleLength)
  return title === '' ? status : { ...status, title }
}

/** The number of runs with one more, and the totals of the runs before it, if known. */
function runsAfter(before: SessionStatus, carried: EndedRun['spent']): Pick<SessionStatus, 'runs' | 'earlier'> {
  const { runs = 0, records, earlier = { turns: 0, usd: 0, tokens: 0 } } = before
  if (before.runs === undefined && records > 0) return {}
  const { turns, usd, tokens } = withSpent(before, carried)
  return {
    runs: runs + 1,
    ...(runs > 0 && {
      earlier: {
        turns: earlier.turns + before.turns - turns,
        usd: earlier.usd + before.usd - usd,
        tokens: earlier.tokens + before.tokens - tokens,
      },
    }),
  }
}

function afterRecord(before: SessionStatus, record: StepRecord): SessionStatus {
  const status = { ...before, records: before.records + 1 }
  switch (record.type) {
    case 'start':
      if (record.scope !== '') return status
      return {
        ...withSpent(withWaits(withTitle(withoutLimit(status), record.start.added), []), record.start.spent),
        ...runsAfter(before, record.start.spent),
        state: 'running',
        runId: record.start.run.runId,
        questions: [],
      }
    case 'intent': {
      const wait = waitBegunBy(record)
      if (wait !== undefined) return withWaits(status, [...(status.waits ?? []), wait])
      const callId = approval.exec(record.key)?.[1]
      if (callId === undefined) return status
      return { ...status, state: 'requires_action', questions: [...status.questions, { callId, key: record.key }] }
    }
    case 'result': {
      if (serviceWait.test(record.key))
        return withWaits(
          status,
          (status.waits ?? []).filter(({ key }) => key !== record.key),
        )
      // The record contains the question of the loop.
      if (limitQuestion.test(record.key))
        return { ...status, state: 'requires_action', limitQuestion: record.value as LimitRequest }
      if (record.key === status.limitQuestion?.id) return { ...withoutLimit(status), state: 'running' }
      const questions = status.questions.filter(({ key }) => key !== record.key)
      if (questions.length === status.questions.length) return status
      return { ...status, questions, state: questions.length > 0 ? 'requires_action' : 'running' }
    }
    case 'lap':
      return record.lap.scope === '' ? withSpent(status, record.lap.spent) : status
    case 'end':
      if (record.scope !== '') return status
      return {
        ...withWaits(withSpent(withoutLimit(status), record.spent), []),
        state: 'idle',
        reason: record.terminal.reason,
        questions: [],
      }
    case 'control':
    case 'rewind':
    case 'stage':
      return status
  }
}

function withoutLimit({ limitQuestion: _, ...status }: SessionStatus): SessionStatus {
  return status
}

function withSpent(
  { unknownUsd: _before, ...status }: SessionStatus,
  { turns, nanos, unknownNanos, totalTokens }: EndedRun['spent'],
): SessionStatus {
  const usd = (nanos + unknownNanos) / 1e9
  return { ...status, turns, usd, tokens: totalTokens, ...(unknownNanos > 0 && { unknownUsd: unknownNanos / 1e9 }) }
}

function waitBegunBy({ key, intent }: Extract<StepRecord, { readonly type: 'intent' }>): OpenWait | undefined {
  if (!serviceWait.test(key) || !isJsonObject(intent)) return undefined
  const { since, until } = intent
  return typeof since === 'number' && typeof until === 'number' ? { key, sinceMs: since, untilMs: until } : undefined
}

function withWaits({ waits: _before, ...status }: SessionStatus, waits: readonly OpenWait[]): SessionStatus {
  return waits.length === 0 ? status : { ...status, waits }
}
