import { noIterations, type SpentIterations, type IterationReason } from '../limits/transition-rules.ts'
import { freshTracker, type BudgetTracker } from '../limits/token-target.ts'
import type { Changes, GoalProgress } from '../verification/goal-progress.ts'
import type { Reminder } from '../limits/guard.ts'
import type { RepetitionProgress } from '../limits/repetition.ts'
import type { VerificationProgress } from '../verification/progress.ts'
import type { JsonObject, Json } from '../values/json.ts'
import { addUsage, noUsage, type ModelStopReason, type Usage } from '../model/messages.ts'
import type { ServiceWaits } from '../model/service-waits.ts'
import type { SettingsInForce } from './settings-change.ts'
import { ExecutionContinuation } from '../endings/continuation.ts'
import type { StopSignalJson } from '../endings/signal.ts'
import type { EndingReason } from '../endings/ending.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'

/** The identity of a run. Ids come from the caller or are derived; core generates none. */
export type RunIdentity = {
  /** Id of the session. */
  readonly sessionId: string
  /** `run1`, `run2` …: stable within the session. */
  readonly runId: string
  /** '' for the main loop, else the path of agents: `agent:3:0:toolu_1/`. */
  readonly agentPath: string
  /** The name of the agent: the one that the caller gave it, or the path of a subagent. Absent if it has none. */
  readonly agentId?: string
  /** Number of executions of the agent's state, including this one (default: 1). */
  readonly executionCount?: number
  /** The call of the parent that this agent answers. */
  readonly parentCallId?: string
  /** The run that ended at a limit and that this run continues, with its counters. */
  readonly continues?: string
  /** Set if the run took place in another session, of which this one is a copy. Its cost counts there. */
  readonly isCopy?: true
  /** Depth of the agent: 0 for the main loop, higher for a subagent. */
  readonly depth: number
}

/**
 * What a run has spent and done so far, as small JSON: the part of the state that an iteration records. Limits of the
 * options are not included, so a resumed run may have different limits.
 */
export type RunProgress = {
  /** Number of the next request; increases with every iteration. */
  readonly request: number
  /** Turns that requested the model, for people. */
  readonly turns: number
  /** Whether the next request begins a turn; a recovery continues one. */
  readonly turnBegins: boolean
  /** Iterations so far, by the retry limits that they count against. */
  readonly laps: SpentIterations
  /** Requests that reached the model. */
  readonly requests: number
  /** Messages of the model. */
  readonly assistantMessages: number
  /** Results of tool calls. */
  readonly toolResults: number
  /** Compactions of the conversation. */
  readonly compactions: number
  /** Usage of the run's own requests. */
  readonly usage: Usage
  /** Figures by model, including subagents and compaction. */
  readonly modelUsage: {
    readonly [model: string]: {
      /** Tokens. */
      readonly usage: Usage
      /** Nano-dollars: 1e-9 US dollars. */
      readonly nanos: number
    }
  }
  /** Input and output tokens of all requests, including subagents: what `maxTotalTokens` limits. */
  readonly totalTokens: number
  /** Settled and reported cost, including subagents, in nano-dollars. */
  readonly nanos: number
  /** In addition to `nanos`: attempts charged at worst case because their cost was not reported. The sum of both counts against a budget. */
  readonly unknownNanos: number
  /** Total milliseconds of requests. */
  readonly apiMs: number
  /** Time at which the run began, on the session's active clock. */
  readonly startedAt: number
  /** End of the last step, on the session's active clock in milliseconds. */
  readonly now: number
  /** The progress towards the token target. */
  readonly tracker: BudgetTracker
  /** Whether a stop hook has made the model continue in this run. */
  readonly stopHookActive: boolean
  /** Whether an incomplete reply was resumed since the last refill. */
  readonly resumedBrokenReply: boolean
  /** Ids of guards that were overridden and have not been below their limit since. */
  readonly overridden: readonly string[]
  /** Hashes of the last turns' calls and results, for the no-progress guard. The list is long enough to contain a cycle. */
  readonly recentTurns: readonly number[]
  /** Why the model stopped in its last reply; null before the first. */
  readonly lastStopReason: ModelStopReason | null
  /** The provider's count for an earlier request, on which estimates are based. */
  readonly counted: PromptCount
  /** Ratio of the provider's counts to our estimates, by which estimates are multiplied. 1 until it is known. */
  readonly tokenRatio: number
  /** Context windows that a refusal reported as smaller than expected, by model. */
  readonly windows: { readonly [model: string]: number } | null
  /** The subset of these windows in which prompt and reply must fit together, because a refusal counted the reply's limit. Absent if there are none. */
  readonly sharedWindows?: { readonly [model: string]: number } | undefined
  /** Set until the compaction that a person requested is done. The compaction is the task of this run. */
  readonly compacting: {
    /** A person's instructions for the summary; '' for none. */
    readonly instructions: string
  } | null
  /** Ids of tool calls that were abandoned because they did not react to an abort. */
  readonly stillRunning: readonly string[]
  /** Subagents that were started, on all levels. */
  readonly subagents: number
  /** Subagents that run in the background; absent if there are none. Their figures are entered when they have ended. */
  readonly openAgents?: readonly OpenAgent[] | undefined
  /**
   * Settings that a person changed during the run. They replace those of the options. They are part of the state,
   * because nobody repeats them at a resume.
   */
  readonly settings: SettingsInForce | null
  /** The pending ending while the last answer of `wrapUp` is requested. */
  readonly closing: StoredEnding | null
  /** A person's answers to pending calls, until they are applied. */
  readonly approvals: { readonly [callId: string]: PermissionDecision } | null
  /** Tool calls that were requested and permitted, including those of subagents; absent for none. */
  readonly toolCalls?: number | undefined
  /** The limits that were reported to the model; absent for none. */
  readonly limitsTold?: ReportedLimits | undefined
  /** The progress of the goals; absent without goals. */
  readonly goal?: GoalProgress | undefined
  /**
   * Calls that may have changed something outside the run, including those of subagents; absent if there are none.
   * Without a change nothing is checked again, and a repeated turn is no progress.
   */
  readonly changes?: Changes | undefined
  /** The stop hooks that blocked the last blocked answer, with the number of consecutive blocks for the same reason; absent for none. */
  readonly stopHookBlocks?: readonly StopHookRepeats[] | undefined
  /** The reminders sent in this run; absent for none. Records of earlier versions have only iterations. */
  readonly reminded?: readonly Reminder[] | undefined
  /** Repeated failures and answers; absent if there are none, and after the model was reminded. */
  readonly repetition?: RepetitionProgress | undefined
  /** The verification state of the run's changes; absent if no tool reported a change or a check. */
  readonly verification?: VerificationProgress | undefined
  /** Time spent waiting for services; absent for none. */
  readonly waits?: ServiceWaits | undefined
  /** Metadata of hooks and callers, stored with the run. */
  readonly metadata: JsonObject
}

/** For each limit: its value, and the share in percent that was last reported to the model. JSON. */
export type ReportedLimits = { readonly [figure: string]: { readonly limit: number; readonly percent: number } }

/** Consecutive blocks of one stop hook, for the same reason and without a change between them. JSON. */
export type StopHookRepeats = {
  readonly hook: string
  /** A digest of the reason. */
  readonly reason: number
  /** Calls that may have changed something until then (`RunProgress.changes`). */
  readonly changes: number
  readonly times: number
}

/** The provider's last count of input tokens, the number of messages that it covers, and a digest of the rest of its request. */
export type PromptCount = {
  readonly tokens: number
  readonly length: number
  readonly of: string
  /** Estimated tokens of results that were cleared since; 0 when absent. Reservations still use the count itself. */
  readonly freed?: number
  /** Maximum tokens of the notes that replace these results; 0 when absent. */
  readonly added?: number
  /** Counted tokens of the prompt alone. `tokens` includes the reply once it is appended. */
  readonly prompt?: number
  // Spec R-BUD-13b.
  /** An earlier, higher count of a shorter conversation. The new count is not trusted then. */
  readonly highest?: { readonly prompt: number; readonly tokens: number; readonly length: number }
}

export const noCount: PromptCount = Object.freeze({ tokens: 0, length: 0, of: '' })

/** What a session has learned about its services, for its next run. */
export type LearnedContext = Pick<RunProgress, 'tokenRatio' | 'windows' | 'sharedWindows'>

/** An ending that is decided, while the run has not ended yet. */
type StoredEnding = {
  readonly reason: EndingReason
  readonly signal: StopSignalJson
  readonly signals: readonly StopSignalJson[]
}

/** One iteration, as recorded: its transition, the total spending, and the entries that it added. */
export type Iteration = {
  /** The run that it belongs to: '' for the main loop, else the path of a subagent. */
  readonly scope: string
  /** Why there is another iteration. */
  readonly transition: IterationReason
  /** Total spending of the run. */
  readonly spent: RunProgress
  /** Entries that the iteration added to the transcript. */
  readonly added: readonly TranscriptEntry[]
  /** Signals that a continuation request overrode, and its author. */
  readonly overridden?: {
    /** The hook that requested to continue. */
    readonly by: string
    /** The signals that it overrode. */
    readonly signals: readonly StopSignalJson[]
  }
}

/** How a run began: the entries that it added to the session, and the counters that it took over. */
export type RunStart = {
  /** The identity of the run. */
  readonly run: RunIdentity
  /** Entries that the run added to the transcript before its first request. */
  readonly added: readonly TranscriptEntry[]
  /** Number of leading entries of `added` from the caller's conversation (`PromptOptions.messages`); absent for none. */
  readonly history?: number
  /** The counters that it took over. */
  readonly spent: RunProgress
  /** The limits at the start, for information only: a resume uses those of its own options. */
  readonly limits?: RunLimits
  /** Pending calls of the previous run, which this run executes or reports as denied. For information only. */
  readonly answers?: readonly {
    /** Id of the call. */
    readonly id: string
    /** Name of the tool. */
    readonly name: string
  }[]
}

/** The limits of a run at its start; null for none. JSON. */
export type RunLimits = {
  /** Maximum number of turns. */
  readonly maxTurns: number | null
  /** The budget of the session, including `spentBeforeUsd`. */
  readonly maxBudgetUsd: number | null
  /** The dollar limit of this run alone. */
  readonly maxRunUsd: number | null
  /** Input and output tokens, including subagents. */
  readonly maxTotalTokens: number | null
  /** Active milliseconds. */
  readonly maxDurationMs: number | null
  /** Present only if the run has such a limit. */
  readonly maxToolCalls?: number
  /** Wall-clock milliseconds; present only if the run may wait for services. */
  readonly waitForLimitsMs?: number
  /** US dollars that the session had spent before this run. */
  readonly spentBeforeUsd: number
  /** Present only for a run with goals. */
  readonly maxGoalTries?: number
}

/** How a run ended: the entries since its last iteration, and its total spending. */
export type RunEnd = {
  /** The result of the run. */
  readonly terminal: RunResult
  /** Entries since its last iteration. */
  readonly added: readonly TranscriptEntry[]
  /** Total spending of the run. */
  readonly spent: RunProgress
}

/** The whole state of a run between two iterations. Immutable for its users; the transcript inside is shared and append-only. */
export interface RunState {
  /** The identity of the run. */
  readonly run: RunIdentity
  /** The conversation so far. */
  readonly transcript: Transcript
  /** Length of the transcript when the run began. */
  readonly startLength: number
  /** For an initial state: number of entries before `startLength` that no earlier run has recorded, so that this run records them; absent for none. */
  readonly history?: number
  /** What the run has spent and done. */
  readonly spent: RunProgress
  /** The signals, and whether a hook asked to continue. */
  readonly continuation: ExecutionContinuation
}

const none: readonly never[] = Object.freeze([])
const noneByName: { readonly [name: string]: never } = Object.freeze({})

/** The figures of a new run. */
export function freshProgress(startedAt: number, metadata: JsonObject = noneByName): RunProgress {
  return {
    request: 1,
    turns: 0,
    turnBegins: true,
    laps: noIterations,
    requests: 0,
    assistantMessages: 0,
    toolResults: 0,
    compactions: 0,
    usage: noUsage,
    modelUsage: noneByName,
    totalTokens: 0,
    nanos: 0,
    unknownNanos: 0,
    apiMs: 0,
    startedAt,
    now: startedAt,
    tracker: freshTracker(startedAt),
    stopHookActive: false,
    resumedBrokenReply: false,
    overridden: none,
    recentTurns: none,
    lastStopReason: null,
    counted: noCount,
    tokenRatio: 1,
    windows: null,
    sharedWindows: undefined,
    compacting: null,
    stillRunning: none,
    subagents: 0,
    openAgents: undefined,
    settings: null,
    closing: null,
    approvals: null,
    toolCalls: undefined,
    limitsTold: undefined,
    goal: undefined,
    changes: undefined,
    stopHookBlocks: undefined,
    reminded: undefined,
    repetition: undefined,
    verification: undefined,
    waits: undefined,
    metadata,
  }
}

export function startState(run: RunIdentity, transcript: Transcript, spent: RunProgress = freshProgress(0)): RunState {
  return { run, transcript, startLength: transcript.length, spent, continuation: ExecutionContinuation.fresh() }
}

/** The progress of a run with every field present, for writing. */
export interface WritableProgress extends Writable<RunProgress> {}

type Writable<Progress> = { -readonly [key in keyof Required<Progress>]: Progress[key & keyof Progress] }

/** A writable copy with the same fixed shape. If a field is missing in this function, optional or not, the code does not compile. */
export function copyOfProgress(spent: RunProgress): WritableProgress {
  return {
    request: spent.request,
    turns: spent.turns,
    turnBegins: spent.turnBegins,
    laps: spent.laps,
    requests: spent.requests,
    assistantMessages: spent.assistantMessages,
    toolResults: spent.toolResults,
    compactions: spent.compactions,
    usage: spent.usage,
    modelUsage: spent.modelUsage,
    totalTokens: spent.totalTokens,
    nanos: spent.nanos,
    unknownNanos: spent.unknownNanos,
    apiMs: spent.apiMs,
    startedAt: spent.startedAt,
    now: spent.now,
    tracker: spent.tracker,
    stopHookActive: spent.stopHookActive,
    resumedBrokenReply: spent.resumedBrokenReply,
    overridden: spent.overridden,
    recentTurns: spent.recentTurns,
    lastStopReason: spent.lastStopReason,
    counted: spent.counted,
    tokenRatio: spent.tokenRatio,
    windows: spent.windows,
    sharedWindows: spent.sharedWindows,
    compacting: spent.compacting,
    stillRunning: spent.stillRunning,
    subagents: spent.subagents,
    openAgents: spent.openAgents,
    settings: spent.settings,
    closing: spent.closing,
    approvals: spent.approvals,
    toolCalls: spent.toolCalls,
    limitsTold: spent.limitsTold,
    goal: spent.goal,
    changes: spent.changes,
    stopHookBlocks: spent.stopHookBlocks,
    reminded: spent.reminded,
    repetition: spent.repetition,
    verification: spent.verification,
    waits: spent.waits,
    metadata: spent.metadata,
  }
}

export function withEntry(state: RunState, entry: TranscriptEntry): RunState {
  return { ...state, transcript: state.transcript.append(entry) }
}

/** A name for an entry that is the same in every replay. */
export function entryId(state: RunState, name: string): string {
  return `${state.run.runId}/${state.run.agentPath}${name}:${state.transcript.length}`
}

/** Adds the figures of one request, of this run or of a subagent. */
export function withModelUsage(
  modelUsage: RunProgress['modelUsage'],
  model: string,
  usage: Usage,
  nanos: number,
): RunProgress['modelUsage'] {
  // The service chooses the name, which may equal the name of an inherited property.
  const before = Object.hasOwn(modelUsage, model) ? modelUsage[model] : undefined
  const after =
    before === undefined ? { usage, nanos } : { usage: addUsage(before.usage, usage), nanos: before.nanos + nanos }
  return { ...modelUsage, [model]: after }
}

/** A background subagent, as a resume needs it. JSON. */
export type OpenAgent = {
  readonly id: string
  /** One line for people. */
  readonly description: string
  /** The call that started it. */
  readonly callId: string
  /** The prefix of its steps. */
  readonly name: string
  readonly tool: string
  /** The validated input. */
  readonly input: Json
  /** Number of agents that it may start itself. They count as started until it has ended. */
  readonly agents: number
  /** Number of tool calls that it may make. They count as made until it has ended. Absent for no limit. */
  readonly toolCalls?: number
  /** The time at which it began, on the session's active clock. */
  readonly startedAt: number
  /** Lines that the run had changed at its start; absent for none. */
  readonly changedLines?: number
  /** Settings at its start. They replace those of the options. */
  readonly settings: SettingsInForce | null
}
