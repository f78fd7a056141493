import type { EndingReason, GoalResult, MessageContent, TranscriptEntry, Verified } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import type { ForeignRun } from '../foreign/foreign-run.ts'

/** What is on record of how a run came out. JSON. */
export interface RunOutcome {
  /** Id of the run. */
  readonly runId: string
  /** Why it ended; null for one that did not, or of which that is not known. */
  readonly reason: EndingReason | null
  /** Whether its goals were met; `unknown` where that was not checked after the last change; null for a run without goals. */
  readonly goal: boolean | 'unknown' | null
  /** Models alone judged its goals. */
  readonly isJudged: boolean
  /** Whether a check passed after its last change; null where nobody looked. */
  readonly verified: Verified | null
  /** A later run of the session continues it, and has what it used in its own figures. */
  readonly isContinued: boolean
  /** The next prompt of the session says that its answer is wrong, or the conversation was rewound to before it. */
  readonly isRejected: boolean
}

/** Of a run of which nothing is on record. */
export const noOutcome: RunOutcome = {
  runId: '',
  reason: null,
  goal: null,
  isJudged: false,
  verified: null,
  isContinued: false,
  isRejected: false,
}

/** The outcomes of the runs of a session, in their order. */
export function outcomesOf(runs: readonly (readonly StepRecord[])[]): readonly RunOutcome[] {
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

/** The same of a session that another program recorded. */
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

/** Judged alone: a model has the last word on every goal. */
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
  return first?.type === 'start' ? personText(first.start.added.flatMap(saidIn)) : ''
}

interface Said {
  readonly origin: string
  readonly content: MessageContent
}

function saidIn(entry: TranscriptEntry): readonly Said[] {
  return entry.kind === 'user' ? [{ origin: entry.origin, content: entry.message.content }] : []
}

/** The first that a person said. */
function personText(said: readonly Said[]): string {
  const prompt = said.find(({ origin }) => origin === 'prompt')
  return prompt === undefined ? '' : textOf(prompt.content)
}

/** The beginning of a prompt is where a person says that the last answer was wrong. */
const longestBeginning = 400

// Few and plain, in English: what none of them fits counts as nothing said.
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
/** Whether a prompt says that the answer before it was wrong, as far as a few English words tell. */
export function isRejection(prompt: string): boolean {
  const beginning = prompt.slice(0, longestBeginning).toLowerCase().trimStart()
  return rejections.some((words) => words.test(beginning))
}
