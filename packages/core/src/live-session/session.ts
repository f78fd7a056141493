import type { AbortCause } from '../values/abort.ts'
import type { JsonObject } from '../values/json.ts'
import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { RunEvent } from '../state/events.ts'
import type { GoalCheck, GoalSpec } from '../verification/goal-record.ts'
import type { LimitAnswer, LimitRequest } from '../state/limit-question.ts'
import type { MessageContent, Usage } from '../model/messages.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { SdkMessage, SdkResult } from '../sdk/sdk-messages.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { Thinking } from '../model/model.ts'
import type { CanUseToolOptions, PermissionAnswer } from '../run/can-use-tool.ts'
import type { NextStop } from './next-stop.ts'

/**
 * One conversation, for the faces: hosts, editors, the terminal and `halting -p` show it and keep nothing of it themselves. It has one run at a time. What is
 * said meanwhile waits; what no run took is a run of its own. Everything that is asked of it comes back as an event, in order.
 */
export interface Session {
  /** Id of the session. */
  readonly id: string
  /** What stands now. A value: what comes later does not change it. */
  readonly snapshot: SessionSnapshot
  /** Calls back with what happens from here on. Gives the way to be called no more. What a listener throws is its own affair. */
  listen(listener: (event: SessionEvent) => void): () => void

  /**
   * Hands a message in; gives its id. Nothing goes on: it begins a run. While one goes on, `when` says what becomes of it. An id that was handed in before is
   * passed over.
   * @throws ConfigurationError for what is no prompt, and after `close`.
   */
  prompt(content: MessageContent, options?: PromptOptions): string
  /** Takes back a message that no run has taken. False when it is too late, or there is none of this id. */
  retract(id: string): boolean
  /** Ends the run that goes on, at once. Without one nothing happens but what `queue` says. */
  interrupt(options?: InterruptOptions): Interrupted
  /** Ends the run that goes on at its next checkpoint. */
  stop(message?: string): void
  /** Ends the waits for services of the run that goes on: they are asked now. False where nothing of it waits for one. */
  retryNow(): boolean
  /** Sets model, permission mode, thinking and limits: for the next request of the run that goes on, on record, and for later runs. @throws ConfigurationError */
  set(change: SettingsChange): void
  /** A person's answer to one of `snapshot.questions`. False when nobody waits for it any more. @throws ConfigurationError for what is no answer: the question stays. */
  answer(questionId: string, answer: PermissionAnswer): boolean
  /**
   * A person's answer to `snapshot.limitQuestion`. A limit that is raised is set as by `set`, so that it holds for later runs, too. False when nobody waits for it any more.
   * @throws ConfigurationError for what is no answer, such as a limit that is not above what is used: the question stays.
   */
  answerLimit(id: string, answer: LimitAnswer): boolean
  /** Makes the conversation shorter: a run of its own. */
  compact(instructions?: string): void
  /**
   * Goes on with what was left, without a prompt: a run that did not end, or one that ended at a limit, with other limits.
   * @throws ConfigurationError where there is nothing to go on with, and while a run goes on.
   */
  resume(limits?: LimitsChange): void
  /** Asks for one last answer: a run of one request, without tools. @throws ConfigurationError where nothing was said, and while a run goes on. */
  lastAnswer(): void
  /** Goes on with a run that ended as `needs_approval`, with what a person said to the calls that wait. @throws ConfigurationError as `resume` does. */
  approve(approvals: { readonly [callId: string]: PermissionDecision }): void
  /** Goes back to before a message of the person: the conversation, what was changed since then, or both. Nothing may go on. */
  rewind(options: RewindOptions): Promise<Rewound>
  /** A copy of the session as it is on disk; gives its id. This one stays as it is. @throws ConfigurationError for one that is not kept. */
  fork(): Promise<string>
  /** What fills the window. */
  contextUsage(): Promise<ContextUsage>
  /** Ends a command, or an agent, in the background. False when there is none of this id. */
  stopTask(taskId: string): Promise<boolean>
  /** Resolves when no run goes on and nothing waits for one. */
  settled(): Promise<void>
  /** Interrupts what goes on, ends all that was started, and lets go of the file. Again is harmless. */
  close(): Promise<void>
}

/** Options of a prompt to a session. */
export interface PromptOptions {
  /** A name of the caller's own, such as a UUID; one is made when absent. */
  readonly id?: string
  /**
   * For a message that comes while a run goes on. `next`: the run takes it at its next checkpoint (steer; the default). `later`: taken when the run would end
   * (follow up). `now`: the run is interrupted, and this begins the next one.
   */
  readonly when?: 'now' | 'next' | 'later'
  /** The model of the run that begins with it, and of no later one. It does not count where a run that goes on takes the message; that is told. */
  readonly model?: string
  /** The run that begins with it ends without a request where its goals hold already, whatever `RunOptions.skipIfMet` says. */
  readonly skipIfMet?: boolean
}

/** Options of `Session.interrupt`. */
export interface InterruptOptions {
  /** Messages that wait: `keep`: they are the next run (the default); `give_back`: they are taken back and given to the caller. */
  readonly queue?: 'keep' | 'give_back'
  /** Who ends it: a person, unless said otherwise. */
  readonly because?: AbortCause
}

/** The result of an interrupt. */
export interface Interrupted {
  /** Whether a run went on. */
  readonly wasRunning: boolean
  /** Messages that stay queued. */
  readonly stillQueued: readonly QueuedMessage[]
  /** Messages that were removed from the queue and returned. */
  readonly givenBack: readonly QueuedMessage[]
}

/** A message that no run has taken. */
export interface QueuedMessage {
  /** Id of the message, as `prompt` returned it. */
  readonly id: string
  /** The message. */
  readonly content: MessageContent
  /** `next`: the running run takes it; `later`: it begins a run of its own. */
  readonly when: 'next' | 'later'
  /** Of the run that begins with it. */
  readonly model?: string
  /** Of the run that begins with it. */
  readonly skipIfMet?: boolean
}

/** A call that a person has to say something to, by `answer`. */
export interface Question {
  /** What `answer` is called with. */
  readonly id: string
  /** Name of the tool. */
  readonly toolName: string
  /** Input of the call. */
  readonly input: JsonObject
  /** Id of the call. */
  readonly callId: string
  /** Why it is asked about. */
  readonly reason: string
  /** What kind of reason that is. */
  readonly reasonType?: CanUseToolOptions['decisionReasonType']
  /** The path that is not open to the call, where it is about one. */
  readonly blockedPath?: string
  /** Changes that would let this call and its like run without a question. Each was held against the rules: with it this call is allowed. */
  readonly suggestions: CanUseToolOptions['suggestions']
  /** The subagent that makes the call. */
  readonly agentId?: string
}

/** Limits that hold; null for none. */
export interface LimitsInForce {
  /** Turns of a run. */
  readonly maxTurns: number | null
  /** US dollars of the session. */
  readonly maxBudgetUsd: number | null
  /** Input and output tokens of a run. */
  readonly maxTotalTokens: number | null
  /** Active milliseconds of a run. */
  readonly maxDurationMs: number | null
  /** US dollars of one run, where `maxBudgetUsd` counts the session. */
  readonly maxRunUsd: number | null
  /** Calls of tools of a run, with its subagents. */
  readonly maxToolCalls: number | null
}

/** What a run has used and has left. Dollars, tokens and time are those of the whole run, subagents included; `sessionUsd` is the session's. */
export interface SessionFigures {
  /** Turns that count against `maxTurns`. */
  readonly turns: number
  /** Calls of tools in this process, of the run and its agents. */
  readonly toolCalls: number
  /** `unknownUsd` of it is what attempts may have cost of which nobody told. */
  readonly settledUsd: number
  /** US dollars that attempts of unknown outcome may have cost. Part of `settledUsd`. */
  readonly unknownUsd: number
  /** US dollars reserved for requests that are under way. */
  readonly reservedUsd: number
  /** What the narrowest limit leaves; null for no limit. The same goes for the others. */
  readonly leftUsd: number | null
  /** Settled, and told by the service. */
  readonly sessionUsd: number
  /** Tokens of finished requests. */
  readonly settledTokens: number
  /** Tokens reserved for requests that are under way. */
  readonly reservedTokens: number
  /** Tokens that the narrowest limit leaves; null for no limit. */
  readonly leftTokens: number | null
  /** Searches of the web that services billed in the last run, once it has ended; absent where there were none. */
  readonly webSearches?: number
  /** Requests of the run and its agents that wait for what others have reserved. */
  readonly waitingRequests: number
  /** 0 before anything was asked about this conversation. */
  readonly contextTokens: number
  /** Size of the model's window in tokens; null when not known. */
  readonly contextWindow: number | null
  /** Tokens from which on the conversation is made shorter; null where it never is. */
  readonly compactsAt: number | null
  /** Active milliseconds. */
  readonly usedMs: number
  /** Milliseconds that the narrowest limit leaves; null for no limit. */
  readonly leftMs: number | null
}

/** What the run does now. A recovery says how often it may still happen. */
export type Activity =
  | { readonly type: 'idle' }
  | {
      readonly type: 'asking'
      /** The model that is asked. */
      readonly model: string
    }
  | {
      readonly type: 'tools'
      /** Ids of the calls that run. */
      readonly callIds: readonly string[]
    }
  /** A request of the run itself waits for what others have reserved. */
  | {
      readonly type: 'budget_wait'
      /** US dollars that others have reserved. */
      readonly reservedUsd: number
      /** Tokens that others have reserved. */
      readonly reservedTokens: number
      /** How many requests have reserved them. */
      readonly holders: number
      /** The name of the standing budget that is waited for. */
      readonly budget?: string
    }
  | {
      readonly type: 'retry'
      /** Number of the attempt that failed, from 1. */
      readonly attempt: number
      /** How many retries the request may have. */
      readonly maxRetries: number
      /** By the clock of the session. */
      readonly untilMs: number
      /** The status of the service, `529`; where it gave none, what kind of failure: `connection`. */
      readonly error: string
    }
  /** A request of the run itself waits for its service. Its times in milliseconds since 1970. */
  | {
      readonly type: 'service_wait'
      /** The model that is asked. */
      readonly model: string
      /** When the wait began. */
      readonly sinceMs: number
      /** When it ends at the latest. */
      readonly untilMs: number
      /** As in `retry`. */
      readonly error: string
      /** What the service said. */
      readonly message: string
    }
  /** A lap that is no `next_turn`: the allowance that paid for it, the number of this lap and how many are left. */
  | {
      readonly type: 'recovery'
      /** Kind of the iteration. */
      readonly transition: string
      /** Number of this iteration of its kind, from 1. */
      readonly used: number
      /** How many of its kind are left. */
      readonly left: number
      /** What the stop hook said that sent the answer back; null for other laps. */
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
      /** The goals, in words. */
      readonly goals: readonly string[]
      /** How often an answer was sent back so far, of at most `maxTries`. */
      readonly tries: number
      /** How often an answer may be sent back. */
      readonly maxTries: number
      /** By the clock of the session. */
      readonly sinceMs: number
    }
  | { readonly type: 'question' }

/** A request that waits for its service. Times in milliseconds since 1970. JSON. */
export interface WaitingRequest {
  /** The calls under which the agent works that makes the request, the outermost first; empty for the run itself. */
  readonly callIds: readonly string[]
  /** The model that is asked. */
  readonly model: string
  /** When the wait began. */
  readonly sinceMs: number
  /** When it ends at the latest. */
  readonly untilMs: number
  /** The status of the service, `529`; where it gave none, what kind of failure: `connection`. */
  readonly error: string
  /** What the service said. */
  readonly message: string
}

/** Something that goes on beside the run: a command or an agent in the background. */
export interface BackgroundTask {
  /** What `stopTask` is called with. */
  readonly id: string
  /** Whether it is a command or a subagent. */
  readonly kind: 'command' | 'agent'
  /** What it does, for a person. */
  readonly description: string
  /** When it began, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Whether it still runs. */
  readonly status: 'running' | 'ended'
}

/** The goals of a session, and how they stand. JSON. */
export interface SessionGoal {
  /** The goals, as they were set. */
  readonly goals: readonly GoalSpec[]
  /** False in a mode that only plans: there nothing is checked. */
  readonly isChecked: boolean
  /** Whether a check is running now. */
  readonly isChecking: boolean
  /** How often an answer of the run was sent back, of at most `maxTries`. */
  readonly tries: number
  /** How often an answer may be sent back. */
  readonly maxTries: number
  /** The last round of checks since the goals were set; null before the first. */
  readonly last: {
    /** Whether every check passed and nothing protected changed. */
    readonly met: boolean
    /** Up to the first that failed. */
    readonly checks: readonly GoalCheck[]
    /** Protected files that have changed. */
    readonly tampered: readonly string[]
    /** Tests that changed since the goals were set. */
    readonly changedTests: readonly string[]
    /** Whether the same state was checked twice with different verdicts. */
    readonly flaky: boolean
  } | null
}

/** All that a face shows of a session. JSON but for `last`. */
export interface SessionSnapshot {
  /** `requires_action`: a run waits for a person; `closed`: after `close`. */
  readonly status: 'idle' | 'running' | 'requires_action' | 'closed'
  /** What the run does now. */
  readonly activity: Activity
  /** Messages that no run has taken, in order. */
  readonly queue: readonly QueuedMessage[]
  /** Permission requests that wait for a person, the oldest first. */
  readonly questions: readonly Question[]
  /** The run pauses at a limit and asks whether it is raised: `answerLimit` says so. Null where it does not. */
  readonly limitQuestion: LimitRequest | null
  /** Id of the model of the next request. */
  readonly model: string
  /** Ids that `set({ model })` takes beside those that can be made by their name. */
  readonly models: readonly string[]
  /** The permission mode. */
  readonly permissionMode: string
  /** The modes to offer; empty where they are not known. */
  readonly permissionModes: readonly string[]
  /** Effort of the model's reasoning; null for the default of the model. */
  readonly thinking: Thinking | null
  /** Limits of the current run; of the next run where none is running. */
  readonly limits: LimitsInForce
  /** What is used and what is left. */
  readonly figures: SessionFigures
  /** What would stop the run next, as things stand; null where nothing would. */
  readonly nextStop: NextStop | null
  /** What must hold before a run may end as `completed`; null for a session without goals. */
  readonly goal: SessionGoal | null
  /** Commands and agents in the background, ended ones included. */
  readonly tasks: readonly BackgroundTask[]
  /** Requests of the run and of its agents that wait for their services: `retryNow` ends these waits. */
  readonly serviceWaits: readonly WaitingRequest[]
  /** How the last run ended, of this process or of the one before; undefined where there is none, or it has no ending: `canResume` tells them apart. */
  readonly last: RunResult | undefined
  /** There is something that `resume` would go on with. It is so when `run_end` is told; the run is over when that was told to all. */
  readonly canResume: boolean
  /** Working directory of the session. */
  readonly cwd: string
  /** The file of the session; undefined where none is kept. */
  readonly file: string | undefined
}

/** What a session tells. */
export type SessionEvent =
  /** A run begins, by these messages that were handed in; none for `resume`, and `compact`. */
  | {
      readonly type: 'run_start'
      /** Id of the run. */
      readonly runId: string
      /** Ids of the messages, in order. */
      readonly ids: readonly string[]
    }
  /** In the SDK's format: one line of `stream-json`. The first of a run is `system/init`, the last its result. */
  | {
      readonly type: 'message'
      /** One message of the SDK's format. */
      readonly message: SdkMessage
    }
  /** Everything that the loop tells, before the messages that are made of it. */
  | {
      readonly type: 'loop'
      /** One event of the run. */
      readonly event: RunEvent
    }
  /** Messages that waited are in the conversation now. */
  | {
      readonly type: 'taken'
      /** Ids of the messages, in order. */
      readonly ids: readonly string[]
      /** The turn that takes them. */
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
      /** What is asked: the limit, and the offers. */
      readonly request: LimitRequest
    }
  | {
      readonly type: 'limit_question_closed'
      /** Id of the request. */
      readonly id: string
      /** Whether a person answered it, or it is no longer needed. */
      readonly because: 'answered' | 'withdrawn'
    }
  /** Something of the snapshot is another. Told once for what changes at once. */
  | { readonly type: 'changed' }
  /** After the run's result. */
  | {
      readonly type: 'run_end'
      /** Id of the run. */
      readonly runId: string
      /** How the run ended. */
      readonly terminal: RunResult
      /** The result message of the run. */
      readonly result: SdkResult
    }
  /** A run broke before it had a result: what could not be begun or written. `givenBack`: the message that it would have begun with. */
  | {
      readonly type: 'failed'
      /** What was thrown. */
      readonly error: unknown
      /** Messages for the queue of the frontend; empty for none. */
      readonly givenBack: readonly QueuedMessage[]
      /** What broke is a stage after a run, which has its result. Another run may go on by now, and does. */
      readonly isAfterRun?: true
    }
  /** What a person should know, in one sentence. */
  | {
      readonly type: 'note'
      /** One sentence. */
      readonly text: string
    }
  | { readonly type: 'closed' }

/** Options of a rewind. */
export interface RewindOptions {
  /** The message of the person, by its id or a uuid that was told of it. */
  readonly before: string
  /** What goes back: the conversation unless said otherwise. Of files what calls changed since then; those that somebody else changed stay as they are, and are named. */
  readonly what?: 'conversation' | 'files' | 'both'
  /** Tells what would be done, and does nothing. */
  readonly dryRun?: boolean
}

/** The result of a rewind. */
export interface Rewound {
  /** The message as it was said: for an editor. */
  readonly content: MessageContent
  /** Paths of the files that were restored. */
  readonly files: readonly string[]
  /** Lines that restoring added. */
  readonly insertions: number
  /** Lines that restoring removed. */
  readonly deletions: number
  /** Left as they are, and why. */
  readonly left: readonly {
    /** Path of the file. */
    readonly path: string
    /** Why it was left as it is. */
    readonly because: string
  }[]
}

/** How full the window of the model is, and at how many tokens the conversation is compacted. */
export interface ContextUsage {
  /** Tokens of the next request, estimated. */
  readonly totalTokens: number
  /** Size of the model's window in tokens; null when not known. */
  readonly maxTokens: number | null
  /** Tokens from which on the conversation is compacted; null for never. */
  readonly compactsAt: number | null
  /** What the tokens are used for, in the order of the request. */
  readonly categories: readonly {
    /** Name of the category, for a person. */
    readonly name: string
    /** Tokens of the category. */
    readonly tokens: number
  }[]
  /** Of what the model is shown of each tool. */
  readonly tools: readonly {
    /** Name of the tool. */
    readonly name: string
    /** Tokens of its description and its schema. */
    readonly tokens: number
  }[]
  /** What the service counted with the last reply; null where there is none. */
  readonly lastUsage: Usage | null
}
