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
  refuse,
  type Given,
} from '../values/given.ts'
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

/** What a run begins with: a prompt, or answers to calls that wait, over the session so far. */
export interface StartOptions {
  /** What the person says. Absent only when `approvals` answer calls that wait. */
  readonly prompt?: MessageContent
  /** Who says the prompt; a person when absent. What the loop says is on record as its own words. */
  readonly promptBy?: 'person' | 'loop'
  /** A name of the caller's own for the prompt; its entry has it as `inboxId`, as messages have that are handed in. */
  readonly promptId?: string
  /** The session so far. */
  readonly transcript?: Transcript
  /** A name of your choice; `session` when absent. Sessions need different ones: idempotency keys begin with it. */
  readonly sessionId?: string
  /** A session's runs need different ones: the next after those that `transcript` shows when absent, beginning with `run1`. */
  readonly runId?: string
  /** The name of the agent that runs, as hooks, tools and cancellation sources are told it; `main` when absent. */
  readonly agentId?: string
  /** Executions that the agent's state has been through, this one included; 1 when absent. */
  readonly executionCount?: number
  /** Kept with the run, in the form that JSON has for it. */
  readonly metadata?: JsonObject
  /** Answers to the calls that a run left waiting when it ended as `needs_approval`. */
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  /** In place of a prompt: the run makes the conversation shorter, and ends. */
  readonly compact?: {
    /** What a person wants of the summary, in words. */
    readonly instructions?: string
  }
  /** The run is one request without tools, for the answer to the prompt: nothing else is taken in, and nobody sends the model back. */
  readonly lastAnswer?: boolean
  /** What an earlier run of the session has learned (`state.spent`). */
  readonly learned?: LearnedContext
  /** What was set in an earlier run of the session and still holds. */
  readonly settings?: SettingsInForce | null
  /** Counters of a run that ended at a limit and goes on in this one. */
  readonly carry?: RunProgress
  /** The name of that run. */
  readonly continues?: string
  /** How far a run had come with its goals that ended to ask for approval: they are in force after it, with their tries. */
  readonly goals?: Pick<RunProgress, 'goal' | 'changes'>
  /** How far a run had checked what it changed that ended to ask for approval: the one that makes the calls goes on from there. */
  readonly verification?: RunProgress['verification']
}

/**
 * The state in which a run begins. Calls that have no result in the transcript (a process that died, approvals that never came)
 * get one that says that they were not run, before the prompt: the API refuses anything else.
 * @throws ConfigurationError for a prompt together with approvals, for approvals when no call waits, where nothing was said at all, and for what is not of its type.
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
  const carried = options.carry === undefined ? {} : carriedOver(options.carry)
  const settings = options.settings ?? null
  const spent: RunProgress = {
    ...freshProgress(0, jsonObjectOf(options.metadata)),
    ...carried,
    ...(options.learned !== undefined && learnedOf(options.learned)),
    compacting:
      options.compact === undefined ? null : { instructions: plainTextOf(options.compact.instructions ?? '') },
    closing: options.lastAnswer === true ? lastAnswerEnding : null,
    settings,
    ...(options.approvals !== undefined && { ...goalsOn(options.goals), ...verificationOn(options.verification) }),
  }
  let state = startState(run, transcript, spent)
  if (options.approvals !== undefined && options.prompt !== undefined) {
    throw new ConfigurationError(
      'Give a prompt or approvals, not both: results come before anything else is said. Steer the run to add a message.',
    )
  }
  if (options.approvals !== undefined && openCallsOf(state.transcript).length === 0) {
    throw new ConfigurationError('There is no call that waits for approval. Give a prompt instead.')
  }
  if (options.approvals !== undefined) checkApprovals(options.approvals, state.transcript)
  if (options.compact !== undefined) checkCompact(options, transcript)
  if (options.lastAnswer === true && (options.prompt === undefined || options.compact !== undefined))
    throw new ConfigurationError('A run for a last answer takes a prompt, and nothing else.')
  if (options.lastAnswer === true && transcript.messages().length === 0)
    throw new ConfigurationError('There is no conversation yet that a last answer could be about.')
  if (options.approvals !== undefined)
    state = { ...state, spent: { ...spent, approvals: decisionsOf(options.approvals) } }
  else state = withCallsClosed(state)
  if (options.prompt === undefined) {
    if (state.transcript.messages().length === 0)
      throw new ConfigurationError('There is nothing to ask the model. Give a prompt.')
    return state
  }
  const message = { role: 'user', content: messageContentOf(options.prompt) } as const
  const { promptId: inboxId, promptBy = 'person' } = options
  const named = inboxId === undefined ? {} : { inboxId }
  const origin = promptBy === 'loop' ? 'loop' : 'prompt'
  return withEntry(state, { kind: 'user', id: entryId(state, 'prompt'), message, origin, ...named })
}

const startChecks: readonly (readonly [name: keyof StartOptions, check: Given])[] = [
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

/** @throws ConfigurationError where there is nothing to make shorter, or something else was asked for too. */
function checkCompact({ prompt, approvals }: StartOptions, transcript: Transcript): void {
  if (prompt !== undefined || approvals !== undefined)
    throw new ConfigurationError(
      'A run that compacts the conversation takes no prompt and no approvals. Start another one for these.',
    )
  if (transcript.messages().length === 0) throw new ConfigurationError('There is no conversation to compact yet.')
  if (openCallsOf(transcript).length > 0)
    throw new ConfigurationError('Calls wait for approval. Answer them before the conversation is compacted.')
}

/** Plain JavaScript may give anything. */
function checkStart(options: StartOptions): void {
  if (fieldsOf(options) === undefined) refuse('startRun', 'given an object, such as { prompt }', options)
  for (const [name, check] of startChecks) optional(check)(name, options[name])
  const { carry } = options
  if (carry !== undefined && fieldsOf(fieldsOf(carry)?.['laps']) === undefined)
    refuse('carry', 'the `spent` of a state that a run ended in', carry)
}

/** What a person said, as it goes on record. A call without an answer waits again. */
function decisionsOf(approvals: NonNullable<StartOptions['approvals']>): NonNullable<RunProgress['approvals']> {
  const given = Object.entries<PermissionDecision | undefined>(approvals)
  return Object.fromEntries(
    given.flatMap(([id, decision]) => (decision === undefined ? [] : [[id, recordedAnswer(decision)]])),
  )
}

/** Calls that wait for a person, of a run that ended, are told that something else was said instead. */
function withCallsClosed(state: RunState): RunState {
  const calls = openCallsOf(state.transcript)
  if (calls.length === 0) return state
  const result = notRun(notRunReasons.notApproved)
  const content = calls.map(({ id }) => resultBlock(id, result))
  const message = { role: 'user', content } as const
  const closed = withEntry(state, { kind: 'user', id: entryId(state, 'tool_results'), message, origin: 'tool_results' })
  return { ...closed, spent: { ...closed.spent, toolResults: closed.spent.toolResults + calls.length } }
}

/** What counts on: turns, tokens, money, time, calls of tools. What belongs to one turn does not. */
function carriedOver(spent: RunProgress): Partial<RunProgress> {
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
    goal: goal === undefined ? undefined : goalGoneOnWith(goal),
    changes,
    verification: carriedVerification(verification),
    toolCalls,
    limitsTold,
  }
}

/** A person was there in between, and may have changed anything: what was found before does not stand any more, and neither does the word that nothing changes. */
function goalGoneOnWith(goal: GoalProgress): GoalProgress {
  return { ...goal, last: null, lastTry: null, reminded: false, resultsBefore: 0 }
}

/** The calls that were approved are yet to be made; the run that makes them has tries of its own. */
function goalsOn({ goal, changes }: NonNullable<StartOptions['goals']> = {}): Pick<RunProgress, 'goal' | 'changes'> {
  if (goal === undefined) return {}
  return { goal: { ...goalGoneOnWith(goal), tries: 0 }, changes }
}

function verificationOn(verification: StartOptions['verification']): Pick<RunProgress, 'verification'> {
  return verification === undefined ? {} : { verification: carriedVerification(verification) }
}

/** The first turn of a run is no lap. Here it comes after others, and is paid for as they are; a turn that was begun and never asked is made up for. */
function withTurnBegun(inRun: RunProgress['laps']['inRun']): RunProgress['laps']['inRun'] {
  return { ...inRun, next_turn: (inRun.next_turn ?? 0) + 1 }
}
