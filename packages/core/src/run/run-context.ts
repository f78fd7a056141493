import type { AgentResult } from '../state/agent-figures.ts'
import type { RetryLimits } from '../limits/transition-rules.ts'
import type { Background } from '../verification/background.ts'
import type { BudgetLease } from '../limits/lease.ts'
import type { SharedRunBudget } from '../limits/run-budget.ts'
import type { StandingBudgets } from '../limits/standing-budgets.ts'
import type { Reserve, Ledger } from '../limits/ledger.ts'
import type { Prices } from '../model/prices.ts'
import type { AbortScope } from '../values/abort.ts'
import type { Deadline } from '../values/deadline.ts'
import type { OrphanedTools } from '../values/orphaned-tools.ts'
import type { CancellationSource } from '../hooks/cancellation-source.ts'
import type { ContextManager } from '../context/context-manager.ts'
import type { Tokens } from '../model/tokens.ts'
import type { Verification } from '../verification/verification.ts'
import type { RunGoals } from '../goals/run-goals.ts'
import type { RegisteredGuard } from '../limits/guard.ts'
import type { Emit } from '../state/events.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { HookRegistry } from '../hooks/hook.ts'
import type { PostRunTask, RegisteredStopHook } from '../hooks/stop-hooks.ts'
import type { Inbox } from '../steps/inbox.ts'
import type { AskLimit, LimitAnswer, LimitRequest } from '../state/limit-request.ts'
import type { MediaLimits } from '../model/media/limits.ts'
import type { Model, Thinking, ToolDefinition } from '../model/model.ts'
import type { Sampling, ToolChoice } from '../model/sampling.ts'
import type { NamedModels } from './named-models.ts'
import type { WaitTime } from '../model/service-waits.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import type { PendingApproval } from './pending-approval.ts'
import type { LimitsChange, SettingsInForce } from '../state/settings-change.ts'
import type { RunState } from '../state/state.ts'
import type { Clock } from '../values/clock.ts'
import type { StepKey, StepEngine } from '../steps/step-engine.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { LargeResults } from '../tools/large-results.ts'
import type { CanUseTool, PermissionAnswer } from './can-use-tool.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import type { Permissions } from '../tools/permissions.ts'
import type { AgentsInBackground, AnyTool } from '../tools/tool.ts'

/** Decides whether a failure ends the run as `error`: true ends it. */
export type ErrorPolicy = (failure: {
  /** What failed. */
  readonly source: 'tool' | 'hook'
  /** Name of the tool or the hook. */
  readonly name: string
  /** Message of the error. */
  readonly message: string
}) => boolean

/** The limits and choices of a run, with every default filled in. */
export interface RunSettings {
  /** The system prompt. */
  readonly system: string
  /** Size of the context window in input tokens, in place of the models' own; null: as each model defines it. */
  readonly contextWindow: number | null
  /** Maximum number of turns; Infinity for no limit. */
  readonly maxTurns: number
  /** The session's budget, including what was spent before this run. */
  readonly maxBudgetUsd: number
  /** The lease on a budget shared with other sessions; null: only `maxBudgetUsd` applies. */
  readonly lease: BudgetLease | null
  /** The budget shared with other runs of this process; null for none. */
  readonly budget: SharedRunBudget | null
  /** Budgets that outlast this session and its process; null for none. */
  readonly standing: StandingBudgets | null
  /** The dollar limit of this run alone: from its options, or a cost guard's bound. */
  readonly maxRunUsd: number
  /** Input and output tokens, including subagents; Infinity for no limit. */
  readonly maxTotalTokens: number
  /** Active milliseconds; Infinity for no limit. */
  readonly maxDurationMs: number
  /** Maximum number of tool calls of the run and its agents. A subagent gets a share of them. */
  readonly maxToolCalls: number
  /** Maximum wall-clock milliseconds to wait for services. The maximum of a subagent is what its parent has left. */
  readonly waitForLimitsMs: number
  // Spec R-GATE-1.
  /** The target of output tokens: an answer that is clearly below it makes the model continue. Null for none. */
  readonly tokenBudget: number | null
  /** Minimum output tokens for a request to be made. */
  readonly minUsefulTokens: number
  /** Network retries of one request. */
  readonly maxRetries: number
  /** How long a side effect may take to respond to an abort, in milliseconds. */
  readonly graceMs: number
  /** Maximum number of read-only calls that run at the same time. */
  readonly toolConcurrency: number
  /** Requests a last answer, without tools, when a limit was hit. */
  readonly wrapUp: boolean
  /** How much the model may think; null: the model's default. */
  readonly thinking: Thinking | null
  /** How the model samples its tokens; null: the service's default. */
  readonly sampling: Sampling | null
  /** Whether the model must call a tool; null: the model decides. */
  readonly toolChoice: ToolChoice | null
  /** Maximum tokens of one reply; Infinity: the model's own limit. */
  readonly maxOutputTokens: number
  /** The permission mode that a person set; null: the mode of the permissions. */
  readonly permissionMode: string | null
  /** Permission changes from a person's earlier answers that apply from then on. */
  readonly permissionUpdates: readonly PermissionUpdate[]
  /** The schema that the answer must fit; null for none. */
  readonly output: OutputSchema | null
  /** Decides which failures end the run; null: none does. */
  readonly errorPolicy: ErrorPolicy | null
  /** For a call that a person must approve: end as `needs_approval`, or wait for an answer through the `StepEngine`. */
  readonly onAsk: 'end' | 'wait'
  /** How long to wait for an answer of `canUseTool`. */
  readonly canUseToolTimeoutMs: number
  /** At a limit: end, or pause until a person raises it. */
  readonly onLimit: 'end' | 'pause'
  /** How long to wait for an answer at a limit, in wall-clock milliseconds; Infinity for no timeout. */
  readonly pauseForMs: number
  /** The highest values that limits may be raised to; absent for no ceiling. */
  readonly limitCeilings: LimitsChange
  /** Maximum number of subagents on all levels below. A subagent gets a share of them. */
  readonly maxSubagents: number
  /** Maximum number of subagent levels below. */
  readonly maxSubagentDepth: number
  /** How often in a row one stop hook may block for the same reason. */
  readonly stopHookBlockCap: number
  /** How often the model is asked to continue because a goal is not met. */
  readonly maxGoalTries: number
  /** Whether to remind the model of what is left of its limits. */
  readonly limitReminders: boolean
  /** Named parts of the user context: the option `userContext`. */
  readonly userContext: { readonly [key: string]: string }
  /** Named parts of the system prompt: the option `systemContext`. */
  readonly systemContext: { readonly [key: string]: string }
  /** `main` or the kind of subagent. */
  readonly querySource: string
}

/** The ports, settings and limits of a run. Built once for a set of options and shared by its runs. */
export interface RunContext {
  readonly model: Model
  readonly fallbackModel: Model | null
  /** The models that may be selected during the run. */
  readonly models: readonly Model[]
  /** Also includes models that only subagents use. */
  readonly allModels: readonly Model[]
  /** Creates models by name, when they are requested. */
  readonly namedModels: NamedModels
  readonly tools: ReadonlyMap<string, AnyTool>
  readonly toolDefinitions: readonly ToolDefinition[]
  /** Returns tools that are added during a run; null if none can be added. */
  readonly moreTools: ((name: string) => AnyTool | undefined) | null
  /** Maps alternative names of tools to their names. */
  readonly toolAliases: ReadonlyMap<string, string>
  readonly guards: readonly RegisteredGuard[]
  readonly cancellation: readonly CancellationSource[]
  /** Work that runs in the background of the run; null for none. */
  readonly background: Background | null
  readonly hooks: HookRegistry
  readonly stopHooks: readonly RegisteredStopHook[]
  readonly goals: RunGoals
  /** Tracks changes that were not checked; null: not tracked. */
  readonly verification: Verification | null
  readonly postRun: readonly PostRunTask[]
  readonly permissions: Permissions
  /** Asks a person; null: `onAsk` decides what happens. */
  readonly canUseTool: CanUseTool | null
  /** Asks a person at a limit; null: the frontend of the run answers. */
  readonly askLimit: AskLimit | null
  /** Timers for grace times and the deadline. Their effects are recorded before they apply. */
  readonly timers: Clock
  readonly prices: Prices
  readonly tokens: Tokens
  readonly contextDefence: ContextManager
  /** Stores results that are too large for the conversation; null: every result is included in full. */
  readonly largeResults: LargeResults | null
  readonly mediaLimits: MediaLimits
  readonly settings: RunSettings
  readonly limits: RetryLimits
  /** The loop itself, for subagents. */
  readonly runLoop: RunLoop
}

/** The ports of one run. */
export interface RunPorts {
  readonly steps: StepEngine
  // Spec R-RES-10.
  /** Whether the run continues from its record, possibly with a different program. Recorded steps are then reused as they are. False in a replay. */
  readonly isResumed: boolean
  /** Whether only recorded steps are allowed. Input for a new step is not requested then, since that step would be refused. */
  readonly isRecordOnly: boolean
  readonly abort: AbortScope
  readonly inbox: Inbox
  readonly ledger: Ledger
  /** The ledger of the main loop, which all its agents share. */
  readonly rootLedger: Ledger
  /** The time that the run and all its agents spend waiting for services. */
  readonly waitTime: WaitTime
  /** Whether an event listener is attached. Live events that are expensive to create are omitted otherwise. */
  readonly hasListener: () => boolean
  /** Lets a fast reader of the events catch up. Never affects the run, and never waits for a slow reader. */
  readonly catchUp: () => MaybePromise<void>
  // Spec R-BUD-4.
  /** What the parent agent reserves from this one. */
  readonly parentReserves?: () => readonly Reserve[]
  readonly deadline: Deadline
  /** The deadline of the main loop. Figures describe the whole run, even where an agent has less time. */
  readonly rootDeadline: Deadline
  readonly orphanedTools: OrphanedTools
  /** Passes the answer of `canUseTool` to the call that waits for it. Undefined if the step engine receives answers elsewhere. */
  readonly answer: ((key: StepKey, answer: PermissionAnswer | LimitAnswer) => void) | undefined
  /** Called with a call that waits for a person, and with undefined when that wait ends. Includes calls of subagents. */
  readonly onWaiting: (key: StepKey, call: PendingApproval | undefined) => void
  /** Called with the open request at a limit, so that answers can be validated, and with undefined once the request is closed. */
  readonly onLimitQuestion: (request: LimitRequest | undefined) => void
  /** Ends the whole run, even when an answer to a call of a subagent requests it. */
  readonly interrupt: () => void
  /** Called with the background subagents, once there are any. */
  readonly onAgents: (agents: Pick<AgentsInBackground, 'find'>) => void
  /** Background agents whose ends are in the record of a resumed run, by their ids. */
  readonly endedAgents: ReadonlyMap<string, AgentResult>
  /** Called with changed settings once they are recorded. The ledger and the deadline enforce the limits for the whole tree of agents. */
  readonly onSettings: (inForce: SettingsInForce, settings: RunSettings) => void
  /** What the session has spent before this run, in US dollars: it counts against `maxBudgetUsd`. */
  readonly spentBeforeUsd: number
}

/** How a run ended, and its final state. */
export interface FinishedRun {
  /** How the run ended. */
  readonly terminal: RunResult
  /** The final state. */
  readonly state: RunState
}

/** The loop. Never rejects. */
type RunLoop = (context: RunContext, ports: RunPorts, start: RunState, emit: Emit) => Promise<FinishedRun>
