import type { CameToEnd } from '../state/agent-figures.ts'
import type { RetryLimits } from '../limits/allowance.ts'
import type { Background } from '../verification/background.ts'
import type { BudgetLease } from '../limits/lease.ts'
import type { SharedRunBudget } from '../limits/run-budget.ts'
import type { StandingBudgets } from '../limits/standing.ts'
import type { HeldBack, Ledger } from '../limits/ledger.ts'
import type { Prices } from '../model/prices.ts'
import type { AbortScope } from '../values/abort.ts'
import type { Deadline } from '../values/deadline.ts'
import type { OrphanedTools } from '../values/orphaned-tools.ts'
import type { CancellationSource } from '../hooks/cancellation-source.ts'
import type { ContextManager } from '../context/port.ts'
import type { Tokens } from '../model/tokens.ts'
import type { Verification } from '../verification/verification.ts'
import type { RunGoals } from '../goals/run-goals.ts'
import type { RegisteredGuard } from '../limits/guard.ts'
import type { Emit } from '../state/events.ts'
import type { Eventually } from '../values/eventually.ts'
import type { HookRegistry } from '../hooks/hook.ts'
import type { PostRunTask, RegisteredStopHook } from '../hooks/stop-hooks.ts'
import type { Inbox } from '../steps/inbox.ts'
import type { AskLimit, LimitAnswer, LimitRequest } from '../state/limit-question.ts'
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
import type { StepKey, StepEngine } from '../steps/steps.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { LargeResults } from '../tools/large-results.ts'
import type { CanUseTool, PermissionAnswer } from './can-use-tool.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import type { Permissions } from '../tools/permissions.ts'
import type { AgentsInBackground, AnyTool } from '../tools/tool.ts'

/** True when this failure is to end the run as `error`. */
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
  /** Tokens of input that fit, in place of what the models say; null: as they say. */
  readonly contextWindow: number | null
  /** Turns of the run; Infinity for no limit. */
  readonly maxTurns: number
  /** The session's budget: what was spent before this run counts. */
  readonly maxBudgetUsd: number
  /** What other sessions spend from too; null: nothing but `maxBudgetUsd` holds. */
  readonly lease: BudgetLease | null
  /** What it spends together with other runs of this process; null for nothing. */
  readonly budget: SharedRunBudget | null
  /** What hold beyond this session and its process; null for none. */
  readonly standing: StandingBudgets | null
  /** For this run alone: what was said, or a cost guard's bound. */
  readonly maxRunUsd: number
  /** Input and output tokens, with subagents; Infinity for no limit. */
  readonly maxTotalTokens: number
  /** Active milliseconds; Infinity for no limit. */
  readonly maxDurationMs: number
  /** Calls of tools, of the run and its agents; for a subagent its part of them. */
  readonly maxToolCalls: number
  /** Milliseconds by the wall clock that may be waited for services; for a subagent what its parent has left of them. */
  readonly waitForLimitsMs: number
  // Spec R-GATE-1.
  /** The target of tokens to use up; null for none. */
  readonly tokenBudget: number | null
  /** A reply with less room than this is not asked for. */
  readonly minUsefulTokens: number
  /** Network retries of one request. */
  readonly maxRetries: number
  /** How long an effect may take to heed an abort, in milliseconds. */
  readonly graceMs: number
  /** Read-only calls that run at the same time. */
  readonly toolConcurrency: number
  /** Ask for a last answer, without tools, when a limit was hit. */
  readonly wrapUp: boolean
  /** How much the model may think; null: as the model was made. */
  readonly thinking: Thinking | null
  /** How the model picks its tokens; null: as its service has it. */
  readonly sampling: Sampling | null
  /** Whether the model is to call a tool; null: as it likes. */
  readonly toolChoice: ToolChoice | null
  /** Most tokens of one reply; Infinity: as the model has it. */
  readonly maxOutputTokens: number
  /** The mode of the permissions that a person set; null: their own. */
  readonly permissionMode: string | null
  /** What persons said to earlier questions that is to hold from then on. */
  readonly permissionUpdates: readonly PermissionUpdate[]
  /** The schema that the answer must fit; null for none. */
  readonly output: OutputSchema | null
  /** Decides which failures end the run; null: none does. */
  readonly errorPolicy: ErrorPolicy | null
  /** A call that a person must approve: end as `needs_approval`, or wait for an answer through the `StepEngine`. */
  readonly onAsk: 'end' | 'wait'
  /** How long an answer of `canUseTool` is waited for. */
  readonly canUseToolTimeoutMs: number
  /** At a limit: end, or pause until a person raises it. */
  readonly onLimit: 'end' | 'pause'
  /** How long an answer at a limit is waited for, in milliseconds by the wall clock; Infinity for no end. */
  readonly pauseForMs: number
  /** What limits may be raised to; absent for no end. */
  readonly limitCeilings: LimitsChange
  /** Of all levels below; for a subagent its part of them. */
  readonly maxSubagents: number
  /** Levels of subagents below. */
  readonly maxSubagentDepth: number
  /** How often in a row one stop hook may block for the same reason. */
  readonly stopHookBlockCap: number
  /** How often an answer is sent back because a goal is not met. */
  readonly maxGoalTries: number
  /** Tell the model what is left of its limits. */
  readonly limitReminders: boolean
  /** Parts of what people said, by name: the option `userContext`. */
  readonly userContext: { readonly [key: string]: string }
  /** Parts of the system prompt, by name: the option `systemContext`. */
  readonly systemContext: { readonly [key: string]: string }
  /** `main` or the kind of subagent. */
  readonly querySource: string
}

/** What touches the world, settings and limits. Built once for a set of options and shared by its runs. */
export interface RunContext {
  readonly model: Model
  readonly fallbackModel: Model | null
  /** The models that may be chosen while it runs. */
  readonly models: readonly Model[]
  /** With those that only subagents ask. */
  readonly allModels: readonly Model[]
  /** Those that are made when they are asked for. */
  readonly namedModels: NamedModels
  readonly tools: ReadonlyMap<string, AnyTool>
  readonly toolDefinitions: readonly ToolDefinition[]
  /** Gives the tools that are added while a run goes on; null: there are none. */
  readonly moreTools: ((name: string) => AnyTool | undefined) | null
  /** The tool that a call by another name is of. */
  readonly toolAliases: ReadonlyMap<string, string>
  readonly guards: readonly RegisteredGuard[]
  readonly cancellation: readonly CancellationSource[]
  /** What goes on beside the run; null: nothing does. */
  readonly background: Background | null
  readonly hooks: HookRegistry
  readonly stopHooks: readonly RegisteredStopHook[]
  readonly goals: RunGoals
  /** Whether changes that nobody checked are heeded; null: nobody looks. */
  readonly verification: Verification | null
  readonly postRun: readonly PostRunTask[]
  readonly permissions: Permissions
  /** Asks a person; null: `onAsk` says what happens. */
  readonly canUseTool: CanUseTool | null
  /** Asks a person at a limit; null: whoever shows the run answers. */
  readonly askLimit: AskLimit | null
  /** Timers for grace times and the deadline; what they cause is on record before it counts. */
  readonly timers: Clock
  readonly prices: Prices
  readonly tokens: Tokens
  readonly contextDefence: ContextManager
  /** Keeps what is too large to be shown; null: every result is shown whole. */
  readonly largeResults: LargeResults | null
  readonly mediaLimits: MediaLimits
  readonly settings: RunSettings
  readonly limits: RetryLimits
  /** The loop itself, for subagents. */
  readonly runLoop: RunLoop
}

/** What one run has for itself. */
export interface RunPorts {
  readonly steps: StepEngine
  // Spec R-RES-10.
  /** The run goes on from its record, with a program that may be another: what is on record stands. Not so in a replay. */
  readonly isResumed: boolean
  /** Nothing is done that is not on record: nobody is asked for what a step that will be refused might need. */
  readonly isRecordOnly: boolean
  readonly abort: AbortScope
  readonly inbox: Inbox
  readonly ledger: Ledger
  /** The ledger of the main loop, on which all its agents draw. */
  readonly wholeLedger: Ledger
  /** What it and all its agents wait for services. */
  readonly waitTime: WaitTime
  /** Whether somebody listens: live events that cost something to make are not made for nobody. */
  readonly isHeard: () => boolean
  /** Lets a reader of the events that keeps up read on. Decides nothing, and waits for nobody who is slow. */
  readonly catchUp: () => Eventually<void>
  // Spec R-BUD-4.
  /** What the agent that started this one holds back from it. */
  readonly heldBack?: () => readonly HeldBack[]
  readonly deadline: Deadline
  /** That of the main loop: figures are those of the whole run, also where an agent has less time. */
  readonly wholeDeadline: Deadline
  readonly orphanedTools: OrphanedTools
  /** Gives the answer of `canUseTool` to whoever waits for it; undefined where the driver takes its answers elsewhere. */
  readonly answer: ((key: StepKey, answer: PermissionAnswer | LimitAnswer) => void) | undefined
  /** Told of a call that waits for a person, and of the end of that wait (undefined); of subagents, too. */
  readonly onWaiting: (key: StepKey, call: PendingApproval | undefined) => void
  /** Told of the question at a limit that is open, so that an answer can be held against it; undefined once it is closed. */
  readonly onLimitQuestion: (request: LimitRequest | undefined) => void
  /** A person who answers may end the whole run, from a subagent too. */
  readonly interrupt: () => void
  /** Told of the subagents that work in the background, once there are any. */
  readonly onAgents: (agents: Pick<AgentsInBackground, 'find'>) => void
  /** Agents of the background whose ends the record of a resumed run holds, by their ids. */
  readonly endedAgents: ReadonlyMap<string, CameToEnd>
  /** Told of what was set, once that is on record: limits are kept by ledger and deadline, for the whole tree of agents. */
  readonly onSettings: (inForce: SettingsInForce, settings: RunSettings) => void
  /** What the session has spent before this run, in US dollars: it counts against `maxBudgetUsd`. */
  readonly spentBeforeUsd: number
}

/** How a run ended, and the state it ended in. */
export interface FinishedRun {
  /** How the run ended. */
  readonly terminal: RunResult
  /** The state it ended in. */
  readonly state: RunState
}

/** The one loop. It never rejects. */
type RunLoop = (context: RunContext, ports: RunPorts, start: RunState, emit: Emit) => Promise<FinishedRun>
