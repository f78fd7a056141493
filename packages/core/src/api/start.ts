import { messageContentOf, plainTextOf } from '../model/content.ts'
import { isTranscript } from '../tools/check-options.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  fieldsOf,
  isEither,
  isName,
  isObject,
  isPrompt,
  isText,
  isYesOrNo,
  optional,
  throwInvalidOption,
  type Validator,
} from '../values/validators.ts'
import type { GoalProgress } from '../verification/goal-progress.ts'
import type { MessageContent } from '../model/messages.ts'
import { jsonObjectOf, type JsonObject } from '../values/json.ts'
import { nextRunId } from './run-id.ts'
import type { SettingsInForce } from '../state/settings-change.ts'
import {
  entryId,
  freshProgress,
  startState,
  withEntry,
  type LearnedContext,
  type RunIdentity,
  type RunProgress,
  type RunState,
} from '../state/state.ts'
import { lastAnswerEnding } from '../loop/finish-wrap-up.ts'
import { checkApprovals } from '../run/answer-shape.ts'
import { recordedAnswer, type PermissionDecision } from '../permissions/permission-decision.ts'
import { notRun, resultBlock } from '../tools/tool-result.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import { Transcript } from '../conversation/transcript.ts'
import { notRunReasons } from '../tools/result-texts.ts'
import { carriedVerification } from '../verification/progress.ts'

/** The input of a run: a prompt, or answers to pending calls, for the session so far. */
export interface StartOptions {
  /** The user's input. Absent only when `approvals` answer pending calls. */
  readonly prompt?: MessageContent
  /** The author of the prompt (default: a person). If the author is the loop, the record says so. */
  readonly promptBy?: 'person' | 'loop'
  /** The caller's name for the prompt. Its entry contains this name as `inboxId`, like messages that are submitted during a run. */
  readonly promptId?: string
  /** The session so far. */
  readonly transcript?: Transcript
  /** The caller's name for the session (default: `session`). It must be unique, since idempotency keys begin with it. */
  readonly sessionId?: string
  /** The name of the run, unique in its session. Default: the next after those in `transcript`, beginning with `run1`. */
  readonly runId?: string
  /** The name of the agent, which hooks, tools and cancellation sources receive (default: `main`). */
  readonly agentId?: string
  /** Number of executions of the agent's state, including this one (default: 1). */
  readonly executionCount?: number
  /** Metadata, stored with the run as JSON. */
  readonly metadata?: JsonObject
  /** Answers to the calls that were pending when a run ended as `needs_approval`. */
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  /** Compacts the conversation in place of a prompt, and ends the run. */
  readonly compact?: {
    /** A person's instructions for the summary. */
    readonly instructions?: string
  }
  /** Limits the run to one request without tools, for the answer to the prompt. The run accepts no other input, and makes no second request. */
  readonly lastAnswer?: boolean
  /** What an earlier run of the session has learned about context windows and token counts (`state.spent`). */
  readonly learned?: LearnedContext
  /** Settings that were changed in an earlier run of the session and still apply. */
  readonly settings?: SettingsInForce | null
  /** Counters of a run that ended at a limit and that this run continues. */
  readonly carry?: RunProgress
  /** The name of the run that this run continues. */
  readonly continues?: string
  /** The progress of goals in a run that ended for an approval. These goals apply in this run too, with new tries. */
  readonly goals?: Pick<RunProgress, 'goal' | 'changes'>
  /** The verification state of a run that ended for an approval. The run that makes the approved calls continues from this state. */
  readonly verification?: RunProgress['verification']
}

/**
 * The initial state of a run. Calls without a result, after a crash or without an approval, get a result *not run*
 * before the prompt, since the API requires a result.
 * @throws ConfigurationError for a prompt together with approvals, for approvals without a pending call, for a
 * conversation without any message, and for a value of the wrong type.
 */
export function startRun(options: StartOptions = {}): RunState {
  checkStart(options)
  const transcript = options.transcript ?? Transcript.empty()
  const run: RunIdentity = {
    sessionId: options.sessionId ?? 'session',
    runId: options.runId ?? nextRunId(transcript),
    agentPath: '',
    ...(options.agentId !== undefined && { agentId: options.agentId }),
    ...(options.executionCount !== undefined && { executionCount: options.executionCount }),
    ...(options.continues !== undefined && { continues: options.continues }),
    depth: 0,
  }
  const carried = options.carry === undefined ? {} : carriedCounters(options.carry)
  const settings = options.settings ?? null
  const spent: RunProgress = {
    ...freshProgress(0, jsonObjectOf(options.metadata)),
    ...carried,
    ...(options.learned !== undefined && learnedOf(options.learned)),
    compacting:
      options.compact === undefined ? null : { instructions: plainTextOf(options.compact.instructions ?? '') },
    closing: options.lastAnswer === true ? lastAnswerEnding : null,
    settings,
    ...(options.approvals !== undefined && {
      ...goalFields(options.goals),
      ...verificationField(options.verification),
    }),
  }
  let state = startState(run, transcript, spent)
  if (options.approvals !== undefined && options.prompt !== undefined) {
    throw new ConfigurationError(
      'Pass a prompt or approvals, not both: results must precede other messages. Use steer to add a message.',
    )
  }
  if (options.approvals !== undefined && openCallsOf(state.transcript).length === 0) {
    throw new ConfigurationError('No call waits for approval. Pass a prompt instead.')
  }
  if (options.approvals !== undefined) checkApprovals(options.approvals, state.transcript)
  if (options.compact !== undefined) checkCompact(options, transcript)
  if (options.lastAnswer === true && (options.prompt === undefined || options.compact !== undefined))
    throw new ConfigurationError('A run for a last answer takes only a prompt.')
  if (options.lastAnswer === true && transcript.messages().length === 0)
    throw new ConfigurationError('There is no conversation yet for a last answer.')
  if (options.approvals !== undefined)
    state = { ...state, spent: { ...spent, approvals: decisionsOf(options.approvals) } }
  else state = withCallsClosed(state)
  if (options.prompt === undefined) {
    if (state.transcript.messages().length === 0)
      throw new ConfigurationError('There is no input for the model. Pass a prompt.')
    return state
  }
  const message = { role: 'user', content: messageContentOf(options.prompt) } as const
  const { promptId: inboxId, promptBy = 'person' } = options
  const nameField = inboxId === undefined ? {} : { inboxId }
  const origin = promptBy === 'loop' ? 'loop' : 'prompt'
  return withEntry(state, { kind: 'user', id: entryId(state, 'prompt'), message, origin, ...nameField })
}

const startChecks: readonly (readonly [name: keyof StartOptions, check: Validator])[] = [
  ['prompt', isPrompt],
  ['transcript', isTranscript],
  ['sessionId', isName],
  ['runId', isName],
  ['agentId', isText],
  ['promptBy', isEither('person', 'loop')],
  ['promptId', isName],
  ['continues', isName],
  ['approvals', isObject('an object')],
  ['compact', isObject('an object')],
  ['lastAnswer', isYesOrNo],
  ['learned', isObject('an object')],
]

function learnedOf({ tokenRatio, windows, sharedWindows }: LearnedContext): LearnedContext {
  return {
    tokenRatio: tokenRatio > 0 && Number.isFinite(tokenRatio) ? tokenRatio : 1,
    windows: windows ?? null,
    sharedWindows: sharedWindows ?? undefined,
  }
}

/** @throws ConfigurationError if there is nothing to compact, or the run has another task too. */
function checkCompact({ prompt, approvals }: StartOptions, transcript: Transcript): void {
  if (prompt !== undefined || approvals !== undefined)
    throw new ConfigurationError(
      'A run that compacts the conversation takes no prompt and no approvals. Start another one for these.',
    )
  if (transcript.messages().length === 0) throw new ConfigurationError('There is no conversation to compact yet.')
  if (openCallsOf(transcript).length > 0)
    throw new ConfigurationError('Calls wait for approval. Answer them before the conversation is compacted.')
}

/** Plain JavaScript may pass anything. */
function checkStart(options: StartOptions): void {
  if (fieldsOf(options) === undefined) throwInvalidOption('startRun', 'given an object, such as { prompt }', options)
  for (const [name, check] of startChecks) optional(check)(name, options[name])
  const { carry } = options
  if (carry !== undefined && fieldsOf(fieldsOf(carry)?.['laps']) === undefined)
    throwInvalidOption('carry', 'the `spent` of a state that a run ended in', carry)
}

/** A person's answers, as recorded. A call without an answer stays pending. */
function decisionsOf(approvals: NonNullable<StartOptions['approvals']>): NonNullable<RunProgress['approvals']> {
  const answers = Object.entries<PermissionDecision | undefined>(approvals)
  return Object.fromEntries(
    answers.flatMap(([id, decision]) => (decision === undefined ? [] : [[id, recordedAnswer(decision)]])),
  )
}

/** Gives pending calls of an ended run the result that new input arrived instead of an approval. */
function withCallsClosed(state: RunState): RunState {
  const calls = openCallsOf(state.transcript)
  if (calls.length === 0) return state
  const result = notRun(notRunReasons.notApproved)
  const content = calls.map(({ id }) => resultBlock(id, result))
  const message = { role: 'user', content } as const
  const closed = withEntry(state, { kind: 'user', id: entryId(state, 'tool_results'), message, origin: 'tool_results' })
  return { ...closed, spent: { ...closed.spent, toolResults: closed.spent.toolResults + calls.length } }
}

/** The counters that continue: turns, tokens, money, time and tool calls. State of a single turn is not included. */
function carriedCounters(spent: RunProgress): Partial<RunProgress> {
  const { turns, turnBegins, laps, usage, modelUsage, totalTokens, nanos, unknownNanos, tracker, startedAt, now } =
    spent
  const { goal, changes, verification, toolCalls, limitsTold } = spent
  return {
    turns,
    laps: { ...laps, sinceRefill: {}, inRun: turnBegins ? laps.inRun : withTurnBegun(laps.inRun) },
    usage,
    modelUsage,
    totalTokens,
    nanos,
    unknownNanos,
    tracker,
    startedAt,
    now,
    goal: goal === undefined ? undefined : continuedGoal(goal),
    changes,
    verification: carriedVerification(verification),
    toolCalls,
    limitsTold,
  }
}

/** Resets results that a person may have invalidated between the runs: the last check, and the stall detection. */
function continuedGoal(goal: GoalProgress): GoalProgress {
  return { ...goal, last: null, lastTry: null, reminded: false, resultsBefore: 0 }
}

/** The approved calls have not been made yet, so the run that makes them has new tries. */
function goalFields({ goal, changes }: NonNullable<StartOptions['goals']> = {}): Pick<RunProgress, 'goal' | 'changes'> {
  if (goal === undefined) return {}
  return { goal: { ...continuedGoal(goal), tries: 0 }, changes }
}

function verificationField(verification: StartOptions['verification']): Pick<RunProgress, 'verification'> {
  return verification === undefined ? {} : { verification: carriedVerification(verification) }
}

/**
 * The first turn of a run is not an iteration. In a continuing run it follows other turns and counts as an iteration. A
 * turn that began but made no request does not count twice.
 */
function withTurnBegun(inRun: RunProgress['laps']['inRun']): RunProgress['laps']['inRun'] {
  return { ...inRun, next_turn: (inRun.next_turn ?? 0) + 1 }
}
