import type { AbortCause } from '../values/abort.ts'
import type { JsonObject } from '../values/json.ts'
import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { RunEvent } from '../state/events.ts'
import type { GoalCheck, GoalSpec } from '../verification/goal-record.ts'
import type { LimitAnswer, LimitRequest } from '../state/limit-request.ts'
import type { MessageContent, Usage } from '../model/messages.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { SdkMessage, SdkResult } from '../sdk/sdk-messages.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { Thinking } from '../model/model.ts'
import type { CanUseToolOptions, PermissionAnswer } from '../run/can-use-tool.ts'
import type { NextStop } from './next-stop.ts'

/**
 * One conversation for frontends: hosts, editors, the terminal and `halting -p` display it and store nothing themselves.
 * It has one run at a time. Messages that arrive during a run wait; those that no run has received start a separate run.
 * The result of every method call is reported as an event, in order.
 */
export interface Session {
  /** Id of the session. */
  readonly id: string
  /** The current state, as an immutable value. */
  readonly snapshot: SessionSnapshot
  /** Subscribes to future events. Returns a function that unsubscribes. Errors of the listener are ignored. */
  listen(listener: (event: SessionEvent) => void): () => void

  /**
   * Submits a message and returns its id. It starts a run if none is active; otherwise `when` applies. A message whose
   * id was used before is ignored.
   * @throws ConfigurationError for an invalid prompt, and after `close`.
   */
  prompt(content: MessageContent, options?: PromptOptions): string
  /** Withdraws a message that no run has received. Returns false if it is too late, or the id is unknown. */
  retract(id: string): boolean
  /** Ends the current run immediately. If no run is active, only the option `queue` has an effect. */
  interrupt(options?: InterruptOptions): Interrupted
  /** Ends the current run at its next cancellation point. */
  stop(message?: string): void
  /** Immediately retries requests of the current run that wait for their services. Returns false if none is waiting. */
  retryNow(): boolean
  /**
   * Sets model, permission mode, thinking and limits, from the next request of the current run on, and for later runs.
   * The change is recorded.
   * @throws ConfigurationError
   */
  set(change: SettingsChange): void
  /**
   * Answers a request in `snapshot.questions`. False if it is no longer open.
   * @throws ConfigurationError for an invalid answer: the request stays open.
   */
  answer(questionId: string, answer: PermissionAnswer): boolean
  /**
   * Answers `snapshot.limitQuestion`. A raised limit is set as by `set`, so it also applies to later runs. False if the
   * question is no longer open.
   * @throws ConfigurationError for an invalid answer, such as a limit that is not above the usage: the question stays
   * open.
   */
  answerLimit(id: string, answer: LimitAnswer): boolean
  /** Compacts the conversation in a separate run. */
  compact(instructions?: string): void
  /**
   * Continues without a prompt: a run that did not end, or one that ended at a limit, with new limits.
   * @throws ConfigurationError if there is nothing to continue, and while a run is active.
   */
  resume(limits?: LimitsChange): void
  /** Asks for one last answer: a run of one request, without tools. @throws ConfigurationError for an empty conversation, and while a run is active. */
  lastAnswer(): void
  /** Continues a run that ended as `needs_approval`, with a person's decisions on the waiting calls. @throws ConfigurationError like `resume`. */
  approve(approvals: { readonly [callId: string]: PermissionDecision }): void
  /** Rewinds to before a message of the person: the conversation, the file changes since then, or both. No run may be active. */
  rewind(options: RewindOptions): Promise<Rewound>
  /** Copies the stored session and returns the id of the copy. This session is unchanged. @throws ConfigurationError for a session that is not stored. */
  fork(): Promise<string>
  /** What the model's window contains. */
  contextUsage(): Promise<ContextUsage>
  /** Ends a background command or agent. False if the id is unknown. */
  stopTask(taskId: string): Promise<boolean>
  /** Resolves when no run is active and none is due. */
  settled(): Promise<void>
  /** Interrupts the current run, ends everything that was started, and closes the file. Calling it again has no effect. */
  close(): Promise<void>
}

/** Options of a prompt to a session. */
export interface PromptOptions {
  /** An id of the caller's choice, such as a UUID. Default: a generated one. */
  readonly id?: string
  /**
   * When a message that arrives during a run is processed. `next` (default): the run receives it at its next
   * cancellation point (steer). `later`: the run receives it when it would end (follow up). `now`: the run is
   * interrupted, and the message starts the next one.
   */
  readonly when?: 'now' | 'next' | 'later'
  /**
   * The model of the run that starts with the message; later runs do not use it. It has no effect if the current run
   * receives the message, and this is reported.
   */
  readonly model?: string
  /** Whether the run that starts with the message ends without a request if its goals are already met. Overrides `RunOptions.skipIfMet`. */
  readonly skipIfMet?: boolean
}

/** Options of `Session.interrupt`. */
export interface InterruptOptions {
  /** What happens to waiting messages. `keep` (default): they start the next run. `give_back`: they are removed from the queue and returned. */
  readonly queue?: 'keep' | 'give_back'
  /** The cause of the abort. Default: a person. */
  readonly because?: AbortCause
}

/** The result of an interrupt. */
export interface Interrupted {
  /** Whether a run was active. */
  readonly wasRunning: boolean
  /** Messages that stay queued. */
  readonly stillQueued: readonly QueuedMessage[]
  /** Messages that were removed from the queue and returned. */
  readonly givenBack: readonly QueuedMessage[]
}

/** A message that no run has received. */
export interface QueuedMessage {
  /** Id of the message, as `prompt` returned it. */
  readonly id: string
  /** The message. */
  readonly content: MessageContent
  /** `next`: the current run receives it. `later`: it starts a separate run. */
  readonly when: 'next' | 'later'
  /** Option of the run that starts with it. */
  readonly model?: string
  /** Option of the run that starts with it. */
  readonly skipIfMet?: boolean
}

/** A call that waits for a person's decision, given through `answer`. */
export interface Question {
  /** The id to pass to `answer`. */
  readonly id: string
  /** Name of the tool. */
  readonly toolName: string
  /** Input of the call. */
  readonly input: JsonObject
  /** Id of the call. */
  readonly callId: string
  /** Why a decision is needed. */
  readonly reason: string
  /** The kind of that reason. */
  readonly reasonType?: CanUseToolOptions['decisionReasonType']
  /** The path that the call may not access, if that is the reason. */
  readonly blockedPath?: string
  /** Rule changes that would allow this call and similar ones without asking. Each was tested against the rules: with the change, this call is allowed. */
  readonly suggestions: CanUseToolOptions['suggestions']
  /** The subagent that makes the call. */
  readonly agentId?: string
}

/** Effective limits; null for no limit. */
export interface LimitsInForce {
  /** Turns of a run. */
  readonly maxTurns: number | null
  /** US dollars of the session. */
  readonly maxBudgetUsd: number | null
  /** Input and output tokens of a run. */
  readonly maxTotalTokens: number | null
  /** Active milliseconds of a run. */
  readonly maxDurationMs: number | null
  /** US dollars of one run, if `maxBudgetUsd` applies to the session. */
  readonly maxRunUsd: number | null
  /** Tool calls of a run, including its subagents. */
  readonly maxToolCalls: number | null
}

/**
 * What a run has used, and what its limits leave. Dollars, tokens and time are those of the whole run, including
 * subagents; `sessionUsd` is for the session.
 */
export interface SessionFigures {
  /** Turns that count against `maxTurns`. */
  readonly turns: number
  /** Tool calls of the run and its agents in this process. */
  readonly toolCalls: number
  /** US dollars charged, including `unknownUsd`. */
  readonly settledUsd: number
  /** US dollars that attempts may have cost whose usage was never reported. Part of `settledUsd`. */
  readonly unknownUsd: number
  /** US dollars reserved for requests in progress. */
  readonly reservedUsd: number
  /** US dollars that the tightest limit leaves; null for no limit. */
  readonly leftUsd: number | null
  /** US dollars of the session that were charged and reported by the service. */
  readonly sessionUsd: number
  /** Tokens of finished requests. */
  readonly settledTokens: number
  /** Tokens reserved for requests in progress. */
  readonly reservedTokens: number
  /** Tokens that the tightest limit leaves; null for no limit. */
  readonly leftTokens: number | null
  /** Web searches that services billed in the last run, once it has ended; absent if there were none. */
  readonly webSearches?: number
  /** Requests of the run and its agents that wait for the reservations of others. */
  readonly waitingRequests: number
  /** Tokens in the model's window; 0 before the first request of this conversation. */
  readonly contextTokens: number
  /** Size of the model's window in tokens; null if unknown. */
  readonly contextWindow: number | null
  /** Number of tokens at which the conversation is compacted; null if it never is. */
  readonly compactsAt: number | null
  /** Active milliseconds. */
  readonly usedMs: number
  /** Milliseconds that the tightest limit leaves; null for no limit. */
  readonly leftMs: number | null
}

/** What the run is doing now. A recovery reports how often it may still happen. */
export type Activity =
  | { readonly type: 'idle' }
  | {
      readonly type: 'asking'
      /** The model of the request. */
      readonly model: string
    }
  | {
      readonly type: 'tools'
      /** Ids of the running calls. */
      readonly callIds: readonly string[]
    }
  /** A request of the run itself waits for the reservations of others. */
  | {
      readonly type: 'budget_wait'
      /** US dollars that others have reserved. */
      readonly reservedUsd: number
      /** Tokens that others have reserved. */
      readonly reservedTokens: number
      /** Number of requests that have made these reservations. */
      readonly holders: number
      /** Name of the shared budget that the request waits for. */
      readonly budget?: string
    }
  | {
      readonly type: 'retry'
      /** Number of the failed attempt, from 1. */
      readonly attempt: number
      /** Maximum number of retries of the request. */
      readonly maxRetries: number
      /** End of the wait, on the clock of the session. */
      readonly untilMs: number
      /** The HTTP status, `529`; without one, the kind of failure: `connection`. */
      readonly error: string
    }
  /** A request of the run itself waits for its service. Times are in milliseconds since 1970. */
  | {
      readonly type: 'service_wait'
      /** The model of the request. */
      readonly model: string
      /** Start of the wait. */
      readonly sinceMs: number
      /** Latest end of the wait. */
      readonly untilMs: number
      /** As in `retry`. */
      readonly error: string
      /** The message of the service. */
      readonly message: string
    }
  /** An iteration other than `next_turn`: its transition, its number, and how many more the retry limit allows. */
  | {
      readonly type: 'recovery'
      /** The transition. */
      readonly transition: string
      /** Number of this iteration with its transition, from 1. */
      readonly used: number
      /** Remaining iterations with this transition. */
      readonly left: number
      /** The reason of the stop hook that sent the answer back; null for other iterations. */
      readonly because: string | null
    }
  | {
      readonly type: 'compacting'
      /** Tokens of the conversation before the compaction. */
      readonly tokens: number
    }
  /** The goals of the run are being checked. */
  | {
      readonly type: 'goal_check'
      /** Names of the goals. */
      readonly goals: readonly string[]
      /** How often an answer has been sent back, at most `maxTries`. */
      readonly tries: number
      /** Maximum number of times that an answer is sent back. */
      readonly maxTries: number
      /** Start of the checks, on the clock of the session. */
      readonly sinceMs: number
    }
  | { readonly type: 'question' }

/** A request that waits for its service. Times are in milliseconds since 1970. JSON. */
export interface WaitingRequest {
  /** The calls of the agent that makes the request, the outermost first; empty for the run itself. */
  readonly callIds: readonly string[]
  /** The model of the request. */
  readonly model: string
  /** Start of the wait. */
  readonly sinceMs: number
  /** Latest end of the wait. */
  readonly untilMs: number
  /** The HTTP status, `529`; without one, the kind of failure: `connection`. */
  readonly error: string
  /** The message of the service. */
  readonly message: string
}

/** A background command or agent, which runs in parallel with the run. */
export interface BackgroundTask {
  /** The id to pass to `stopTask`. */
  readonly id: string
  /** Whether it is a command or a subagent. */
  readonly kind: 'command' | 'agent'
  /** What it does, for a person. */
  readonly description: string
  /** Start time in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Whether it is still running. */
  readonly status: 'running' | 'ended'
}

/** The goals of a session and their state. JSON. */
export interface SessionGoal {
  /** The goals, as they were set. */
  readonly goals: readonly GoalSpec[]
  /** False in a planning mode, in which nothing is checked. */
  readonly isChecked: boolean
  /** Whether a check is running now. */
  readonly isChecking: boolean
  /** How often an answer of the run was sent back, at most `maxTries`. */
  readonly tries: number
  /** Maximum number of times that an answer is sent back. */
  readonly maxTries: number
  /** The last round of checks since the goals were set; null before the first. */
  readonly last: {
    /** Whether every check passed and no protected file changed. */
    readonly met: boolean
    /** Checks up to the first failed one. */
    readonly checks: readonly GoalCheck[]
    /** Protected files that have changed. */
    readonly tampered: readonly string[]
    /** Tests that changed since the goals were set. */
    readonly changedTests: readonly string[]
    /** Whether checks of the same state gave different verdicts. */
    readonly flaky: boolean
  } | null
}

/** Everything that a frontend shows of a session. JSON, except `last`. */
export interface SessionSnapshot {
  /** `requires_action`: a run waits for a person. `closed`: after `close`. */
  readonly status: 'idle' | 'running' | 'requires_action' | 'closed'
  /** What the run is doing now. */
  readonly activity: Activity
  /** Messages that no run has received, in order. */
  readonly queue: readonly QueuedMessage[]
  /** Permission requests that wait for a person, the oldest first. */
  readonly questions: readonly Question[]
  /** The run is paused at a limit and asks whether to raise it; answer with `answerLimit`. Otherwise null. */
  readonly limitQuestion: LimitRequest | null
  /** Id of the model of the next request. */
  readonly model: string
  /** Ids that `set({ model })` accepts, in addition to models that can be created from their name. */
  readonly models: readonly string[]
  /** The permission mode. */
  readonly permissionMode: string
  /** The modes to offer; empty if unknown. */
  readonly permissionModes: readonly string[]
  /** Reasoning effort of the model; null for the model's default. */
  readonly thinking: Thinking | null
  /** Limits of the current run, or of the next one. */
  readonly limits: LimitsInForce
  /** Usage, and what the limits leave. */
  readonly figures: SessionFigures
  /** The limit that would end the run first at the current rate; null if none would. */
  readonly nextStop: NextStop | null
  /** The goals that must be met before a run ends as `completed`; null for a session without goals. */
  readonly goal: SessionGoal | null
  /** Background commands and agents, including ended ones. */
  readonly tasks: readonly BackgroundTask[]
  /** Requests of the run and its agents that wait for their services; `retryNow` ends these waits. */
  readonly serviceWaits: readonly WaitingRequest[]
  /** The result of the last run, of this or an earlier process. Undefined if there was no run, or it has no ending; `canResume` distinguishes the two. */
  readonly last: RunResult | undefined
  /** Whether `resume` can continue a run. It is set before `run_end` is emitted; the run is over when all listeners were called. */
  readonly canResume: boolean
  /** Working directory of the session. */
  readonly cwd: string
  /** The file of the session; undefined if it is not stored. */
  readonly file: string | undefined
}

/** An event of a session. */
export type SessionEvent =
  /** A run starts with these submitted messages; none for `resume` and `compact`. */
  | {
      readonly type: 'run_start'
      /** Id of the run. */
      readonly runId: string
      /** Ids of the messages, in order. */
      readonly ids: readonly string[]
    }
  /** A message in the SDK format: one line of `stream-json`. The first of a run is `system/init`, the last its result. */
  | {
      readonly type: 'message'
      /** The message. */
      readonly message: SdkMessage
    }
  /** An event of the loop, before the messages that are derived from it. */
  | {
      readonly type: 'loop'
      /** One event of the run. */
      readonly event: RunEvent
    }
  /** Waiting messages are now in the conversation. */
  | {
      readonly type: 'taken'
      /** Ids of the messages, in order. */
      readonly ids: readonly string[]
      /** The turn that received them. */
      readonly turn: number
    }
  | {
      readonly type: 'question'
      /** The permission request. */
      readonly question: Question
    }
  | {
      readonly type: 'question_closed'
      /** Id of the permission request. */
      readonly id: string
      /** Whether a person answered it, or it is no longer needed. */
      readonly because: 'answered' | 'withdrawn'
    }
  | {
      readonly type: 'limit_question'
      /** The limit, and the choices. */
      readonly request: LimitRequest
    }
  | {
      readonly type: 'limit_question_closed'
      /** Id of the request. */
      readonly id: string
      /** Whether a person answered it, or it is no longer needed. */
      readonly because: 'answered' | 'withdrawn'
    }
  /** The snapshot changed. Emitted once for simultaneous changes. */
  | { readonly type: 'changed' }
  /** Emitted after the run's result. */
  | {
      readonly type: 'run_end'
      /** Id of the run. */
      readonly runId: string
      /** How the run ended. */
      readonly terminal: RunResult
      /** The result message of the run. */
      readonly result: SdkResult
    }
  /** A run failed before it had a result: it could not be started or recorded. `givenBack`: the message that it would have started with. */
  | {
      readonly type: 'failed'
      /** The thrown value. */
      readonly error: unknown
      /** Messages for the queue of the frontend; empty for none. */
      readonly givenBack: readonly QueuedMessage[]
      /** A stage after a run failed; the run itself has its result. Another run may be active already, and continues. */
      readonly isAfterRun?: true
    }
  /** Information for a person, in one sentence. */
  | {
      readonly type: 'note'
      /** One sentence. */
      readonly text: string
    }
  | { readonly type: 'closed' }

/** Options of a rewind. */
export interface RewindOptions {
  /** The message of the person, by its id or by a uuid from an SDK message. */
  readonly before: string
  /**
   * What to rewind. Default: `conversation`. Files: only changes of calls since then are reverted. Files that someone
   * else changed are left unchanged and listed.
   */
  readonly what?: 'conversation' | 'files' | 'both'
  /** Report what would be done, without doing it. */
  readonly dryRun?: boolean
}

/** The result of a rewind. */
export interface Rewound {
  /** The original message, for an editor. */
  readonly content: MessageContent
  /** Paths of the files that were restored. */
  readonly files: readonly string[]
  /** Lines that restoring added. */
  readonly insertions: number
  /** Lines that restoring removed. */
  readonly deletions: number
  /** Files that were left unchanged, and why. */
  readonly left: readonly {
    /** Path of the file. */
    readonly path: string
    /** Why it was left unchanged. */
    readonly because: string
  }[]
}

/** Usage of the model's window, and the size at which the conversation is compacted. */
export interface ContextUsage {
  /** Tokens of the next request, estimated. */
  readonly totalTokens: number
  /** Size of the model's window in tokens; null if unknown. */
  readonly maxTokens: number | null
  /** Number of tokens at which the conversation is compacted; null for never. */
  readonly compactsAt: number | null
  /** What the tokens are used for, in the order of the request. */
  readonly categories: readonly {
    /** Name of the category, for a person. */
    readonly name: string
    /** Tokens of the category. */
    readonly tokens: number
  }[]
  /** Tokens of each tool's definition. */
  readonly tools: readonly {
    /** Name of the tool. */
    readonly name: string
    /** Tokens of its description and its schema. */
    readonly tokens: number
  }[]
  /** Usage that the service reported with the last reply; null if there was none. */
  readonly lastUsage: Usage | null
}
