import { ConfigurationError } from './errors.ts'
import type { MessageContent } from './messages.ts'
import type { JsonObject } from './json.ts'
import { freshSpent, startState, withEntry, withSpent, type RunIdentity, type RunState, type Spent } from './state.ts'
import type { PermissionDecision } from './tools/permission-decision.ts'
import { closeOpenCalls, openCallsOf } from './turn/close-calls.ts'
import { entryId } from './state.ts'
import { Transcript } from './transcript.ts'

export interface StartOptions {
  /** What the person says. Absent only when `approvals` answer calls that wait. */
  readonly prompt?: MessageContent
  /** The session so far. */
  readonly transcript?: Transcript
  /** Names of your choice; `session` and `run1` when absent. A session's runs need different ones. */
  readonly sessionId?: string
  readonly runId?: string
  readonly metadata?: JsonObject
  /** Answers to the calls that a run left waiting when it ended as `needs_approval`. */
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  /** Counters of a run that ended at a limit and goes on in this one. */
  readonly carry?: Spent
}

/**
 * The state in which a run begins. Calls that have no result in the transcript (a process that died, approvals that never came)
 * get one that says that they were not run, before the prompt: the API refuses anything else.
 * @throws ConfigurationError for a prompt together with approvals.
 */
export function startRun(options: StartOptions = {}): RunState {
  const run: RunIdentity = {
    sessionId: options.sessionId ?? 'session',
    runId: options.runId ?? 'run1',
    agentPath: '',
    depth: 0,
  }
  const carried = options.carry === undefined ? {} : carriedOver(options.carry)
  const spent = { ...freshSpent(0, options.metadata), ...carried }
  let state = startState(run, options.transcript ?? Transcript.empty(), spent)
  if (options.approvals !== undefined && options.prompt !== undefined) {
    throw new ConfigurationError(
      'Give a prompt or approvals, not both: results come before anything else is said. Steer the run to add a message.',
    )
  }
  if (options.approvals !== undefined && openCallsOf(state).length === 0) {
    throw new ConfigurationError('There is no call that waits for approval. Give a prompt instead.')
  }
  if (options.approvals !== undefined) state = withSpent(state, { approvals: options.approvals })
  else state = closeOpenCalls(state, () => {}, 'it waited for approval, and something else was said instead')
  if (options.prompt === undefined) return state
  const message = { role: 'user', content: options.prompt } as const
  return withEntry(state, { kind: 'user', id: entryId(state, 'prompt'), message, origin: 'prompt' })
}

/** What counts on: turns, tokens, money, time. What belongs to one turn does not. */
function carriedOver(spent: Spent): Partial<Spent> {
  const { turns, laps, usage, modelUsage, totalTokens, nanos, unknownNanos, tracker, startedAt, now } = spent
  return {
    turns,
    laps: { sinceRefill: {}, inRun: laps.inRun },
    usage,
    modelUsage,
    totalTokens,
    nanos,
    unknownNanos,
    tracker,
    startedAt,
    now,
  }
}
