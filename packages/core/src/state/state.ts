import { noLaps, type SpentIterations, type IterationReason } from '../limits/allowance.ts'
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
import type { RunResult } from '../endings/terminal.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'

/** Who runs. Ids are given from outside or derived; core makes none. */
export type RunIdentity = {
  /** Id of the session. */
  readonly sessionId: string
  /** `run1`, `run2` …: stable within the session. */
  readonly runId: string
  /** '' for the main loop, else the path of agents: `agent:3:0:toolu_1/`. */
  readonly agentPath: string
  /** The name of the agent, where it has one: as its caller named it, or a subagent's, which is its path. */
  readonly agentId?: string
  /** Executions of the agent's state, this one included; 1 when absent. */
  readonly executionCount?: number
  /** The call of the parent that this agent answers. */
  readonly parentCallId?: string
  /** The run that ended at a limit and goes on in this one, which carries its counters. */
  readonly continues?: string
  /** It was run in another session, of which this one has a copy: what it cost counts there. */
  readonly isCopy?: true
  /** 0 for the main loop, above it for a subagent. */
  readonly depth: number
}

/**
 * What a run has spent and done so far, small and JSON: the part of the state that a lap records.
 * Limits of the options are not in here, so a resumed run may have others.
 */
export type RunProgress = {
  /** Number of the request that comes next; rises with every lap. */
  readonly request: number
  /** Turns of which the model was asked, for people. */
  readonly turns: number
  /** The next request begins a turn; a recovery goes on with one. */
  readonly turnBegins: boolean
  /** Iterations so far, by what they count against. */
  readonly laps: SpentIterations
  /** Requests that reached the model. */
  readonly requests: number
  /** Messages of the model. */
  readonly assistantMessages: number
  /** Results of tool calls. */
  readonly toolResults: number
  /** Compactions of the conversation. */
  readonly compactions: number
  /** The run's own requests. */
  readonly usage: Usage
  /** With subagents and compaction. */
  readonly modelUsage: {
    readonly [model: string]: {
      /** Tokens. */
      readonly usage: Usage
      /** Nano-dollars: 1e-9 US dollars. */
      readonly nanos: number
    }
  }
  /** Input and output of all requests, subagents too: what `maxTotalTokens` limits. */
  readonly totalTokens: number
  /** Settled cost that somebody told, subagents too, in nano-dollars. */
  readonly nanos: number
  /** Beside `nanos`: what was charged at worst case, since nobody said what it really was. Both together are what counts against a budget. */
  readonly unknownNanos: number
  /** Milliseconds that requests took. */
  readonly apiMs: number
  /** Moment at which the run began and the last step ended, on the session's active clock. */
  readonly startedAt: number
  /** End of the last step, on the session's active clock in milliseconds. */
  readonly now: number
  /** How far the token target is used up. */
  readonly tracker: BudgetTracker
  /** A stop hook has sent the model back in this run. */
  readonly stopHookActive: boolean
  /** A reply that broke off was resumed since the last refill. */
  readonly resumedBrokenReply: boolean
  /** Ids of guards that were overridden and have not been below their limit since. */
  readonly overridden: readonly string[]
  /** Hashes of the last turns' calls and results, as many as can be part of a cycle, for the no-progress guard. */
  readonly recentTurns: readonly number[]
  /** Why the model stopped in its last reply; null before the first. */
  readonly lastStopReason: ModelStopReason | null
  /** What the provider counted for an earlier request, which estimates begin with. */
  readonly counted: PromptCount
  /** What the provider counted, to what was estimated for the same: estimates are multiplied by it. 1 until it is known. */
  readonly tokenRatio: number
  /** Windows that turned out to be smaller than was thought, by model: what a refusal said. */
  readonly windows: { readonly [model: string]: number } | null
  /** Of these, windows that hold the prompt and the reply together: a refusal counted the reply's cap. Absent for none. */
  readonly sharedWindows?: { readonly [model: string]: number } | undefined
  /** A person asked for a compaction, which this run is for; until it is done. */
  readonly compacting: {
    /** What the person wants of the summary; '' for nothing. */
    readonly instructions: string
  } | null
  /** Ids of tool calls that were left behind because they did not react to an abort. */
  readonly stillRunning: readonly string[]
  /** Subagents that were started, on all levels. */
  readonly subagents: number
  /** Those that work in the background; absent for none. Their figures are entered when they have ended. */
  readonly openAgents?: readonly OpenAgent[] | undefined
  /** What a person set while it ran, in place of the options. The one limit that is state: whoever set it is gone at a resume. */
  readonly settings: SettingsInForce | null
  /** Set while the last answer is asked for that `wrapUp` wants: how the run will have ended. */
  readonly closing: StoredEnding | null
  /** What a person said to calls that waited, until they are acted on. */
  readonly approvals: { readonly [callId: string]: PermissionDecision } | null
  /** Calls of tools that were asked for and let run, subagents' too; absent for none. */
  readonly toolCalls?: number | undefined
  /** What the model was told of its limits; absent for nothing. */
  readonly limitsTold?: LimitsTold | undefined
  /** How far it has come with its goals; absent without any. */
  readonly goal?: GoalProgress | undefined
  /**
   * Calls that may have changed something outside, subagents' too. Absent for none. What has not changed since is not checked again, and is no progress.
   */
  readonly changes?: Changes | undefined
  /** Stop hooks that blocked the last answer that one blocked, each with how often in a row for that reason; absent for none. */
  readonly stopHookBlocks?: readonly StopHookRepeats[] | undefined
  /** What the model was reminded of in this run; absent for nothing. Of a record of an earlier version the laps say it. */
  readonly reminded?: readonly Reminder[] | undefined
  /** Failures and answers that it has repeated; absent for none, and once the model was reminded of one. */
  readonly repetition?: RepetitionProgress | undefined
  /** How far what the run changed was checked; absent where no tool told of a change or a check. */
  readonly verification?: VerificationProgress | undefined
  /** What was waited for services; absent for nothing. */
  readonly waits?: ServiceWaits | undefined
  /** What hooks and callers keep with the run. */
  readonly metadata: JsonObject
}

/** By its name what a limit was, and the share of it in percent of which the model was told last. JSON. */
export type LimitsTold = { readonly [figure: string]: { readonly limit: number; readonly percent: number } }

/** Blocks of one stop hook in a row, for one reason and with nothing changed in between. JSON. */
export type StopHookRepeats = {
  readonly hook: string
  /** A digest of the reason. */
  readonly reason: number
  /** Calls that may have changed something until then (`RunProgress.changes`). */
  readonly changes: number
  readonly times: number
}

/** The provider's last count of input tokens, the number of messages that it covers, and a digest of what else it was of. */
export type PromptCount = {
  readonly tokens: number
  readonly length: number
  readonly of: string
  /** Tokens of results that were cleared since, estimated; 0 when absent. The count itself stays what a request is reserved by. */
  readonly freed?: number
  /** Most tokens of the notes in their place; 0 when absent. */
  readonly added?: number
  /** Tokens of the prompt alone, as counted: without the reply, which `tokens` gets once it is appended. */
  readonly prompt?: number
  // Spec R-BUD-13b.
  /** An earlier count of a shorter conversation that was higher: this one is not believed. */
  readonly highest?: { readonly prompt: number; readonly tokens: number; readonly length: number }
}

export const noCount: PromptCount = Object.freeze({ tokens: 0, length: 0, of: '' })

/** What a session has learned of its services, which its next run would otherwise learn anew. */
export type LearnedContext = Pick<RunProgress, 'tokenRatio' | 'windows' | 'sharedWindows'>

/** An ending that is decided but not reached. */
type StoredEnding = {
  readonly reason: EndingReason
  readonly signal: StopSignalJson
  readonly signals: readonly StopSignalJson[]
}

/** One time round the loop, as recorded: why, what was spent in all, and the messages it added. */
export type Iteration = {
  /** Which run it is: '' for the main loop, else the path of a subagent. */
  readonly scope: string
  /** Why there is another iteration. */
  readonly transition: IterationReason
  /** What the run has spent in all. */
  readonly spent: RunProgress
  /** Entries that the iteration added to the transcript. */
  readonly added: readonly TranscriptEntry[]
  /** Signals that a continuation request overrode, and by whom. */
  readonly overridden?: {
    /** The hook that asked to continue. */
    readonly by: string
    /** The signals that it overrode. */
    readonly signals: readonly StopSignalJson[]
  }
}

/** How a run began: with the messages it added to the session, and what it carried over. */
export type RunStart = {
  /** Who runs. */
  readonly run: RunIdentity
  /** Entries that the run added to the transcript before its first request. */
  readonly added: readonly TranscriptEntry[]
  /** The first so many of `added` are of a conversation that the caller brought (`PromptOptions.messages`); absent for none. */
  readonly history?: number
  /** What it carried over. */
  readonly spent: RunProgress
  /** With which limits, for whoever asks later. Nothing is decided by it: a resume has those of its own options. */
  readonly limits?: RunLimits
  /** Calls of the run before it that waited for a person: it carries them out, or tells the model that they were denied. For whoever asks later. */
  readonly answers?: readonly {
    /** Id of the call. */
    readonly id: string
    /** Name of the tool. */
    readonly name: string
  }[]
}

/** The limits of a run as it began; null for none. JSON. */
export type RunLimits = {
  /** Turns. */
  readonly maxTurns: number | null
  /** With `spentBeforeUsd` in it: the budget of the session. */
  readonly maxBudgetUsd: number | null
  /** For this run alone. */
  readonly maxRunUsd: number | null
  /** Input and output tokens, with subagents. */
  readonly maxTotalTokens: number | null
  /** Active milliseconds. */
  readonly maxDurationMs: number | null
  /** Only of a run with such a limit. */
  readonly maxToolCalls?: number
  /** Only of a run that may wait for services: milliseconds by the wall clock. */
  readonly waitForLimitsMs?: number
  /** US dollars that the session had spent before this run. */
  readonly spentBeforeUsd: number
  /** Only of a run with goals. */
  readonly maxGoalTries?: number
}

/** How a run ended: with the messages since its last lap, and all that it spent. */
export type RunEnd = {
  /** The result of the run. */
  readonly terminal: RunResult
  /** Entries since its last iteration. */
  readonly added: readonly TranscriptEntry[]
  /** What the run spent in all. */
  readonly spent: RunProgress
}

/** The whole state of a run between two laps. Immutable for its users; the transcript inside is shared and append-only. */
export interface RunState {
  /** Who runs. */
  readonly run: RunIdentity
  /** The conversation so far. */
  readonly transcript: Transcript
  /** Length of the transcript when the run began. */
  readonly startLength: number
  /** Of a state that a run begins in: the last entries before `startLength` that no earlier run has on record, so that this one puts them there; absent for none. */
  readonly history?: number
  /** What the run has spent and done. */
  readonly spent: RunProgress
  /** The signals, and whether a hook asked to continue. */
  readonly continuation: ExecutionContinuation
}

const none: readonly never[] = Object.freeze([])
const noneByName: { readonly [name: string]: never } = Object.freeze({})

/** The figures of a run that begins. */
export function freshProgress(startedAt: number, metadata: JsonObject = noneByName): RunProgress {
  return {
    request: 1,
    turns: 0,
    turnBegins: true,
    laps: noLaps,
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

/** The progress of a run with every field present, to be written into. */
export interface WritableProgress extends Writable<RunProgress> {}

type Writable<Progress> = { -readonly [key in keyof Required<Progress>]: Progress[key & keyof Progress] }

/** A copy of the same fixed shape, for writing into. A field that is left out here, optional or not, does not compile. */
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

/** Adds the figures of one request, of this run or of a subagent's. */
export function withModelUsage(
  modelUsage: RunProgress['modelUsage'],
  model: string,
  usage: Usage,
  nanos: number,
): RunProgress['modelUsage'] {
  // The name is what a service says: it may be that of a part of every object.
  const before = Object.hasOwn(modelUsage, model) ? modelUsage[model] : undefined
  const after =
    before === undefined ? { usage, nanos } : { usage: addUsage(before.usage, usage), nanos: before.nanos + nanos }
  return { ...modelUsage, [model]: after }
}

/** A subagent that works in the background: what a resume goes on inside it by. JSON. */
export type OpenAgent = {
  readonly id: string
  /** In one line for people. */
  readonly description: string
  /** The call that started it. */
  readonly callId: string
  /** What its steps are under. */
  readonly name: string
  readonly tool: string
  /** As the tool took it. */
  readonly input: Json
  /** How many agents it may start itself. They count as started until it has ended. */
  readonly agents: number
  /** How many calls of tools it may make: they count as made until it has ended. Absent for no limit. */
  readonly toolCalls?: number
  /** When it began, on the session's active clock. */
  readonly startedAt: number
  /** Lines that the run had changed then; absent for none. */
  readonly changedLines?: number
  /** What was set in place of the options when it began. */
  readonly settings: SettingsInForce | null
}
