import { plainTextOf } from '../model/content.ts'
import { fieldsOf } from '../values/given.ts'
import { standingRound } from '../verification/goal-progress.ts'
import { goOnUnmetText } from '../goals/goal-texts.ts'
import type { MessageContent } from '../model/messages.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import { goOnPrompt } from '../run/turn-texts.ts'
import type { FinishedRun } from '../run/run-context.ts'
import type { StartOptions } from './start.ts'
import type { RunProgress } from '../state/state.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { StepKey } from '../steps/steps.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** What an engine is asked for: a run of something new, or of what was left. */
export interface RunRequest {
  readonly prompt?: MessageContent
  /** Absent for a person. */
  readonly promptBy?: 'loop'
  readonly promptId?: string
  /** Of the run that begins with the prompt alone. */
  readonly model?: string
  /** Of the run that begins with the prompt alone. */
  readonly skipIfMet?: boolean
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  readonly compact?: { readonly instructions: string }
  readonly lastAnswer?: true
  readonly open?: StoredSession
  /** Answers to the calls that the open run waits with, by the keys of the waits. */
  readonly answers?: ReadonlyMap<StepKey, PermissionDecision>
  readonly carried?: { readonly carry: RunProgress; readonly continues: string }
}

/** What a run of it begins with, but for the prompt, which may be made ready first. */
export function asked({ approvals, compact, lastAnswer, carried, promptBy, promptId }: RunRequest): StartOptions {
  return {
    ...(approvals !== undefined && { approvals }),
    ...(compact !== undefined && { compact }),
    ...(lastAnswer === true && { lastAnswer }),
    ...carried,
    ...(promptBy !== undefined && { promptBy }),
    ...(promptId !== undefined && { promptId }),
  }
}

/** The session as a resume finds it. */
export interface WhatIsLeft {
  /** What an earlier process left, until a run begins. */
  readonly left: StoredSession | undefined
  /** The last run of this process. */
  readonly last: FinishedRun | undefined
  readonly transcript: Transcript
}

/** Nothing was said to the calls that the run ended with: their questions stay. */
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

/** How a session goes on without a new prompt; undefined where there is nothing to go on with. */
export function wayOn({ left, last, transcript }: WhatIsLeft): RunRequest | undefined {
  if (left?.isRewound === true) return undefined
  if (left?.open !== undefined) return { open: left }
  const before = left?.ended.at(-1)
  const carried =
    before !== undefined
      ? { carry: before.spent, continues: before.runId }
      : last === undefined
        ? undefined
        : { carry: last.state.spent, continues: last.state.run.runId }
  if (carried === undefined) return undefined
  const approvals = waitingIn(left?.ended.at(-1)?.terminal ?? last?.terminal)
  if (approvals !== undefined && openCallsOf(transcript).length > 0) return { carried, approvals }
  // A request ends with what somebody else said than the model.
  const isAnswered = transcript.messages().at(-1)?.role === 'assistant'
  return { carried, ...(isAnswered && promptFor(carried.carry)) }
}

// Spec R-GOAL-72.
/** An answer that did not meet the goals is gone on from with what the check found. */
function promptFor(spent: RunProgress): Pick<RunRequest, 'prompt' | 'promptBy'> {
  const last = standingRound(spent)
  return last?.met === false ? { prompt: goOnUnmetText(last), promptBy: 'loop' } : { prompt: goOnPrompt }
}
