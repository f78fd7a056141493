import {
  endings,
  Transcript,
  type FileWork,
  type RunEvent,
  type RunState,
  type RunResult,
  type StepRecord,
  type TranscriptEntry,
} from '@halting/core'
import { isJsonObject, isOfPerson, lastAnswer } from '@halting/core/adapters'
import { eventsOfAgents, fail } from './assert-same-events.ts'

// What must hold for the request to verify a change, according to the records and events of the run (spec R-VERI-3 to R-VERI-6).

/** `events`: those of a whole replay. `records`: those of the run. */
export function checkVerification(
  events: readonly RunEvent[],
  {
    records,
    state,
    terminal,
  }: { readonly records: readonly StepRecord[]; readonly state: RunState; readonly terminal: RunResult },
  where: string,
): void {
  const asked = events.flatMap((event, index) =>
    event.type === 'lap' && event.transition === 'unverified_change' ? [{ event, index }] : [],
  )
  if (asked.length > 1) fail(`${where}: the model was asked ${asked.length} times to verify its change`)
  for (const [callId, own] of eventsOfAgents(events))
    if (own.some((event) => event.type === 'lap' && event.transition === 'unverified_change'))
      fail(`${where}, agent ${callId}: a subagent was asked to verify its change`)
  const entries = [...state.transcript]
  const questions = entries.flatMap((entry, index) => (isQuestion(entry) ? [index] : []))
  if (questions.length !== asked.length)
    fail(`${where}: ${questions.length} questions to verify a change, and ${asked.length} iterations`)
  const [[lap], [question]] = [asked, questions]
  if (lap === undefined || question === undefined) return
  if (lap.event.after[0] < 1) fail(`${where}: it was asked to verify its change with no turn left for the answer`)
  if (modeBefore(events, lap.index) === 'plan') fail(`${where}: it was asked to verify its change in plan mode`)
  const before = recordsBefore(records)
  if (before === undefined) fail(`${where}: the question to verify a change is not on record`)
  else if (!before.some(isOfAgent) && uncheckedIn(before) < 3)
    fail(`${where}: it was asked to verify a change, but all changes were checked`)
  checkAnswer(entries, question, { state, terminal }, where)
}

/** While no tool was called and no person wrote anything, the answer stays the one before the request, and only a person can change the ending. */
function checkAnswer(
  entries: readonly TranscriptEntry[],
  question: number,
  { state, terminal }: { readonly state: RunState; readonly terminal: RunResult },
  where: string,
): void {
  const behind = entries.slice(question + 1)
  const isReplaced = behind.some(
    (entry) =>
      (entry.kind === 'assistant' && entry.message.content.some(({ type }) => type === 'tool_use')) ||
      (entry.kind === 'user' && (entry.origin === 'hook' || entry.origin === 'tool_results' || isOfPerson(entry))) ||
      (entry.kind === 'user' && entry.origin === 'loop' && entry.keepsAnswer !== true && !asksForLastAnswer(entry)),
  )
  if (isReplaced) return
  const { reason, signal } = terminal
  // A run that breaks ends as broken, whatever its answer.
  const isBroken = reason === 'error'
  const isInterrupted = signal.reason === 'user_requested'
  if (endings[reason].subtype !== 'success' && !isBroken && !isInterrupted)
    fail(`${where} had its answer and was asked to verify it, and ended as ${reason}`)
  const answerAtEnd = lastAnswer({ transcript: state.transcript, startLength: state.startLength })
  const answer = lastAnswer({ transcript: Transcript.of(entries.slice(0, question)), startLength: state.startLength })
  if (answerAtEnd !== answer)
    fail(`${where}: its answer is ${answerAtEnd}, and was ${answer} before it was asked to verify it`)
}

/** No last answer is requested while the earlier answer stands: the run has then ended as if nothing had been asked. */
function asksForLastAnswer({ message: { content } }: Extract<TranscriptEntry, { kind: 'user' }>): boolean {
  return typeof content === 'string' && content.startsWith('This run is ending')
}

function isQuestion(entry: TranscriptEntry): boolean {
  return entry.kind === 'user' && entry.keepsAnswer === true && /\bverify:\d+$/.test(entry.id)
}

function modeBefore(events: readonly RunEvent[], index: number): string | undefined {
  const set = events
    .slice(0, index)
    .findLast((event) => event.type === 'settings' && event.change.permissionMode !== undefined)
  return set?.type === 'settings' ? (set.change.permissionMode ?? undefined) : undefined
}

/** Records before the iteration that made the request; undefined without such an iteration. */
function recordsBefore(records: readonly StepRecord[]): readonly StepRecord[] | undefined {
  const end = records.findIndex(
    (record) => record.type === 'lap' && record.lap.scope === '' && record.lap.transition === 'unverified_change',
  )
  return end < 0 ? undefined : records.slice(0, end)
}

/** The work of concurrent agents is entered in the order of their calls, which differs from the order of the records. */
function isOfAgent(record: StepRecord): boolean {
  return 'key' in record && record.key.includes('/agent:')
}

/** Lines that were changed and not checked since, according to the records of calls. */
function uncheckedIn(records: readonly StepRecord[]): number {
  let lines = 0
  for (const { changedLines = 0, check } of records.flatMap(workIn)) {
    lines += changedLines
    if (check?.passed === true) lines = 0
  }
  return lines
}

function workIn(record: StepRecord): readonly FileWork[] {
  if (record.type !== 'result' || !isJsonObject(record.value)) return []
  const { fileWork } = record.value
  return isJsonObject(fileWork) ? [fileWork] : []
}
