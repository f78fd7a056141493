import { plainTextOf } from '../model/content.ts'
import { fieldsOf } from '../values/validators.ts'
import { currentRound } from '../verification/goal-progress.ts'
import { continueUnmetText } from '../goals/goal-texts.ts'
import type { MessageContent } from '../model/messages.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import { goOnPrompt } from '../run/turn-texts.ts'
import type { FinishedRun } from '../run/run-context.ts'
import type { StartOptions } from './start.ts'
import type { RunProgress } from '../state/state.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { StepKey } from '../steps/step-engine.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** A request for a run of an engine: with new input, or to continue an earlier run. */
export interface RunRequest {
  readonly prompt?: MessageContent
  /** Absent if a person wrote the prompt. */
  readonly promptBy?: 'loop'
  readonly promptId?: string
  /** Applies only to the run of this prompt. */
  readonly model?: string
  /** Applies only to the run of this prompt. */
  readonly skipIfMet?: boolean
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  readonly compact?: { readonly instructions: string }
  readonly lastAnswer?: true
  readonly open?: StoredSession
  /** Answers to the pending calls of the open run, by the keys of the waits. */
  readonly answers?: ReadonlyMap<StepKey, PermissionDecision>
  readonly carried?: { readonly carry: RunProgress; readonly continues: string }
}

/** The start options of a requested run, without the prompt, which may need preparation first. */
export function startOptionsOf({
  approvals,
  compact,
  lastAnswer,
  carried,
  promptBy,
  promptId,
}: RunRequest): StartOptions {
  return {
    ...(approvals !== undefined && { approvals }),
    ...(compact !== undefined && { compact }),
    ...(lastAnswer === true && { lastAnswer }),
    ...carried,
    ...(promptBy !== undefined && { promptBy }),
    ...(promptId !== undefined && { promptId }),
  }
}

/** The state of a session before a resume. */
export interface ResumableState {
  /** The session of an earlier process, until a run starts. */
  readonly previous: StoredSession | undefined
  /** The last run of this process. */
  readonly last: FinishedRun | undefined
  readonly transcript: Transcript
}

/** The pending calls of an ended run. Without answers they stay pending. */
function waitingIn(terminal: RunResult | undefined): RunRequest['approvals'] {
  if (terminal?.reason !== 'needs_approval') return undefined
  const { pending } = terminal.signal.context
  const waiting = Array.isArray(pending) ? pending.map((call: unknown) => fieldsOf(call) ?? {}) : []
  return Object.fromEntries(
    waiting.flatMap(({ id, message }) =>
      typeof id === 'string' ? [[id, { behavior: 'ask', message: plainTextOf(message) }]] : [],
    ),
  )
}

/** How to continue a session without a new prompt; undefined if nothing can be continued. */
export function resumeRequest({ previous, last, transcript }: ResumableState): RunRequest | undefined {
  if (previous?.isRewound === true) return undefined
  if (previous?.open !== undefined) return { open: previous }
  const lastRecorded = previous?.ended.at(-1)
  const carried =
    lastRecorded !== undefined
      ? { carry: lastRecorded.spent, continues: lastRecorded.runId }
      : last === undefined
        ? undefined
        : { carry: last.state.spent, continues: last.state.run.runId }
  if (carried === undefined) return undefined
  const approvals = waitingIn(previous?.ended.at(-1)?.terminal ?? last?.terminal)
  if (approvals !== undefined && openCallsOf(transcript).length > 0) return { carried, approvals }
  // The last message of a request must not be the model's.
  const isAnswered = transcript.messages().at(-1)?.role === 'assistant'
  return { carried, ...(isAnswered && promptFor(carried.carry)) }
}

// Spec R-GOAL-72.
/** Continues after an answer that missed the goals with the result of the check. */
function promptFor(spent: RunProgress): Pick<RunRequest, 'prompt' | 'promptBy'> {
  const last = currentRound(spent)
  return last?.met === false ? { prompt: continueUnmetText(last), promptBy: 'loop' } : { prompt: goOnPrompt }
}
