import type { EndingReason, GoalResult, MessageContent, TranscriptEntry, Verified } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import type { ForeignRun } from '../foreign/foreign-run.ts'

/** The recorded outcome of a run. JSON. */
export interface RunOutcome {
  /** Id of the run. */
  readonly runId: string
  /** Why it ended; null for a run that has not ended, or whose ending is unknown. */
  readonly reason: EndingReason | null
  /** Whether its goals were met; `unknown` when they were not checked after the last change; null for a run without goals. */
  readonly goal: boolean | 'unknown' | null
  /** Whether only models judged its goals. */
  readonly isJudged: boolean
  /** Whether a check passed after its last change; null when that was not tracked. */
  readonly verified: Verified | null
  /** Whether a later run of the session continues it and includes its figures. */
  readonly isContinued: boolean
  /** Whether the next prompt rejects its answer, or the conversation was rewound to before it. */
  readonly isRejected: boolean
}

/** The outcome of a run without records. */
export const noOutcome: RunOutcome = {
  runId: '',
  reason: null,
  goal: null,
  isJudged: false,
  verified: null,
  isContinued: false,
  isRejected: false,
}

/** The outcomes of the runs of a session, in order. */
export function runOutcomes(runs: readonly (readonly StepRecord[])[]): readonly RunOutcome[] {
  const continued = new Set(runs.map(continuedBy))
  return runs.map((records, index): RunOutcome => {
    const [first] = records
    const runId = first?.type === 'start' ? first.start.run.runId : ''
    const end = records.findLast((record) => record.type === 'end' && record.scope === '')
    const terminal = end?.type === 'end' ? end.terminal : undefined
    return {
      runId,
      reason: terminal?.reason ?? null,
      ...goalOf(terminal?.goal),
      verified: terminal?.verified ?? null,
      isContinued: continued.has(runId),
      isRejected: records.some(({ type }) => type === 'rewind') || isRejection(promptOf(runs[index + 1])),
    }
  })
}

/** The outcomes of the runs of another program's session. */
export function foreignOutcomes(runs: readonly ForeignRun[]): readonly RunOutcome[] {
  return runs.map(({ run, ending }, index) => ({
    runId: run.runId,
    reason: ending?.reason ?? null,
    goal: null,
    isJudged: false,
    verified: null,
    isContinued: false,
    isRejected: isRejection(personText(runs[index + 1]?.prompts ?? [])),
  }))
}

/** `isJudged`: a model decides every goal. */
function goalOf(goal: GoalResult | undefined): Pick<RunOutcome, 'goal' | 'isJudged'> {
  if (goal === undefined) return { goal: null, isJudged: false }
  const { met, checks, judged } = goal
  const isJudged = checks.length === 0 ? judged === true : checks.every((check) => check.judged === true)
  return { goal: met, isJudged }
}

function continuedBy([first]: readonly StepRecord[]): string | undefined {
  return first?.type === 'start' ? first.start.run.continues : undefined
}

function promptOf(records: readonly StepRecord[] | undefined): string {
  const first = records?.[0]
  return first?.type === 'start' ? personText(first.start.added.flatMap(userMessagesIn)) : ''
}

interface UserMessage {
  readonly origin: string
  readonly content: MessageContent
}

function userMessagesIn(entry: TranscriptEntry): readonly UserMessage[] {
  return entry.kind === 'user' ? [{ origin: entry.origin, content: entry.message.content }] : []
}

/** Text of the first message of a person. */
function personText(messages: readonly UserMessage[]): string {
  const prompt = messages.find(({ origin }) => origin === 'prompt')
  return prompt === undefined ? '' : textOf(prompt.content)
}

/** Only the beginning of a prompt is searched for a rejection. */
const maxPromptLength = 400

// A few plain English phrases; a prompt without any of them is not a rejection.
const rejections: readonly RegExp[] = [
  /\b(?:do|does|did|is|are|was|were|has|have)(?:n['’]?t| not) (?:\w+ )?(?:work|fix|help|solve|right|correct|compile|build|done|what i)/,
  /\bstill (?:fail|broken|wrong|not\b|does|do(?:es)?n|is|isn|the same|get|see|happen|crash|error)/,
  /\b(?:that|this|it)(?:['’]s| is| was) (?:wrong|incorrect|broken|not (?:right|correct|working|what))/,
  /\bnot what i (?:asked|wanted|meant|said)/,
  /\b(?:revert|undo|roll back) (?:that|this|it|your|the|all)\b/,
  /\btry (?:it )?again\b/,
  /\byou (?:broke|forgot|missed|ignored|did(?:n['’]?t| not)|have(?:n['’]?t| not))\b/,
  /^(?:no|nope|wrong)\b/,
]

// Spec R-GRADE-6.
/** Whether a prompt rejects the answer before it, judged by a few English phrases. */
export function isRejection(prompt: string): boolean {
  const beginning = prompt.slice(0, maxPromptLength).toLowerCase().trimStart()
  return rejections.some((words) => words.test(beginning))
}
