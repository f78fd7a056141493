import type { AbortCause } from '../cancel/abort.ts'
import type { JsonObject } from '../json.ts'
import type { LimitsChange, SettingsChange } from '../settings/settings-change.ts'
import type { RunEvent } from '../events.ts'
import type { GoalCheck, GoalSpec } from '../goals/goal-record.ts'
import type { LimitAnswer, LimitRequest } from '../limit-question.ts'
import type { MessageContent, Usage } from '../messages.ts'
import type { PermissionDecision } from '../tools/permission-decision.ts'
import type { SdkMessage, SdkResult } from '../sdk/sdk-messages.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { Thinking } from '../model/model.ts'
import type { CanUseToolOptions, PermissionAnswer } from '../tools/can-use-tool.ts'
import type { NextStop } from './next-stop.ts'

/**
 * One conversation, for the faces: hosts, editors, the terminal and `halting -p` show it and keep nothing of it themselves. It has one run at a time. What is
 * said meanwhile waits; what no run took is a run of its own. Everything that is asked of it comes back as an event, in order.
 */
export interface Session {
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
  readonly stillQueued: readonly QueuedMessage[]
  readonly givenBack: readonly QueuedMessage[]
}

/** A message that no run has taken. */
export interface QueuedMessage {
  readonly id: string
  readonly content: MessageContent
  readonly when: 'next' | 'later'
  /** Of the run that begins with it. */
  readonly model?: string
  /** Of the run that begins with it. */
  readonly skipIfMet?: boolean
}

/** A call that a person has to say something to, by `answer`. */
export interface Question {
  readonly id: string
  readonly toolName: string
  readonly input: JsonObject
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
  readonly maxTurns: number | null
  readonly maxBudgetUsd: number | null
  readonly maxTotalTokens: number | null
  readonly maxDurationMs: number | null
  /** US dollars of one run, where `maxBudgetUsd` counts the session. */
  readonly maxRunUsd: number | null
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
  readonly unknownUsd: number
  readonly reservedUsd: number
  /** What the narrowest limit leaves; null for no limit. The same goes for the others. */
  readonly leftUsd: number | null
  /** Settled, and told by the service. */
  readonly sessionUsd: number
  readonly settledTokens: number
  readonly reservedTokens: number
  readonly leftTokens: number | null
  /** Searches of the web that services billed in the last run, once it has ended; absent where there were none. */
  readonly webSearches?: number
  /** Requests of the run and its agents that wait for what others have reserved. */
  readonly waitingRequests: number
  /** 0 before anything was asked about this conversation. */
  readonly contextTokens: number
  readonly contextWindow: number | null
  /** Tokens from which on the conversation is made shorter; null where it never is. */
  readonly compactsAt: number | null
  /** Active milliseconds. */
  readonly usedMs: number
  readonly leftMs: number | null
}

/** What the run does now. A recovery says how often it may still happen. */
export type Activity =
  | { readonly type: 'idle' }
  | { readonly type: 'asking'; readonly model: string }
  | { readonly type: 'tools'; readonly callIds: readonly string[] }
  /** A request of the run itself waits for what others have reserved. */
  | {
      readonly type: 'budget_wait'
      readonly reservedUsd: number
      readonly reservedTokens: number
      readonly holders: number
      /** The name of the standing budget that is waited for. */
      readonly budget?: string
    }
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly maxRetries: number
      /** By the clock of the session. */
      readonly untilMs: number
      /** The status of the service, `529`; where it gave none, what kind of failure: `connection`. */
      readonly error: string
    }
  /** A request of the run itself waits for its service. Its times in milliseconds since 1970. */
  | {
      readonly type: 'service_wait'
      readonly model: string
      readonly sinceMs: number
      readonly untilMs: number
      /** As in `retry`. */
      readonly error: string
      /** What the service said. */
      readonly message: string
    }
  /** A lap that is no `next_turn`: the allowance that paid for it, the number of this lap and how many are left. */
  | {
      readonly type: 'recovery'
      readonly transition: string
      readonly used: number
      readonly left: number
      /** What the stop hook said that sent the answer back; null for other laps. */
      readonly because: string | null
    }
  | { readonly type: 'compacting'; readonly tokens: number }
  /** The goals of the run are being checked. */
  | {
      readonly type: 'goal_check'
      readonly goals: readonly string[]
      /** How often an answer was sent back so far, of at most `maxTries`. */
      readonly tries: number
      readonly maxTries: number
      /** By the clock of the session. */
      readonly sinceMs: number
    }
  | { readonly type: 'question' }

/** A request that waits for its service. Times in milliseconds since 1970. JSON. */
export interface WaitingRequest {
  /** The calls under which the agent works that makes the request, the outermost first; empty for the run itself. */
  readonly callIds: readonly string[]
  readonly model: string
  readonly sinceMs: number
  readonly untilMs: number
  /** The status of the service, `529`; where it gave none, what kind of failure: `connection`. */
  readonly error: string
  /** What the service said. */
  readonly message: string
}

/** Something that goes on beside the run: a command or an agent in the background. */
export interface BackgroundTask {
  readonly id: string
  readonly kind: 'command' | 'agent'
  readonly description: string
  readonly startedAtMs: number
  readonly status: 'running' | 'ended'
}

/** The goals of a session, and how they stand. JSON. */
export interface SessionGoal {
  readonly goals: readonly GoalSpec[]
  /** False in a mode that only plans: there nothing is checked. */
  readonly isChecked: boolean
  readonly isChecking: boolean
  /** How often an answer of the run was sent back, of at most `maxTries`. */
  readonly tries: number
  readonly maxTries: number
  /** The last round of checks since the goals were set; null before the first. */
  readonly last: {
    readonly met: boolean
    /** Up to the first that failed. */
    readonly checks: readonly GoalCheck[]
    readonly tampered: readonly string[]
    readonly changedTests: readonly string[]
    readonly flaky: boolean
  } | null
}

/** All that a face shows of a session. JSON but for `last`. */
export interface SessionSnapshot {
  readonly status: 'idle' | 'running' | 'requires_action' | 'closed'
  readonly activity: Activity
  readonly queue: readonly QueuedMessage[]
  readonly questions: readonly Question[]
  /** The run pauses at a limit and asks whether it is raised: `answerLimit` says so. Null where it does not. */
  readonly limitQuestion: LimitRequest | null
  readonly model: string
  /** Ids that `set({ model })` takes beside those that can be made by their name. */
  readonly models: readonly string[]
  readonly permissionMode: string
  readonly permissionModes: readonly string[]
  readonly thinking: Thinking | null
  readonly limits: LimitsInForce
  readonly figures: SessionFigures
  /** What would stop the run next, as things stand; null where nothing would. */
  readonly nextStop: NextStop | null
  /** What must hold before a run may end as `completed`; null for a session without goals. */
  readonly goal: SessionGoal | null
  readonly tasks: readonly BackgroundTask[]
  /** Requests of the run and of its agents that wait for their services: `retryNow` ends these waits. */
  readonly serviceWaits: readonly WaitingRequest[]
  /** How the last run ended, of this process or of the one before; undefined where there is none, or it has no ending: `canResume` tells them apart. */
  readonly last: RunResult | undefined
  /** There is something that `resume` would go on with. It is so when `run_end` is told; the run is over when that was told to all. */
  readonly canResume: boolean
  readonly cwd: string
  /** The file of the session; undefined where none is kept. */
  readonly file: string | undefined
}

/** What a session tells. */
export type SessionEvent =
  /** A run begins, by these messages that were handed in; none for `resume`, and `compact`. */
  | { readonly type: 'run_start'; readonly runId: string; readonly ids: readonly string[] }
  /** In the SDK's format: one line of `stream-json`. The first of a run is `system/init`, the last its result. */
  | { readonly type: 'message'; readonly message: SdkMessage }
  /** Everything that the loop tells, before the messages that are made of it. */
  | { readonly type: 'loop'; readonly event: RunEvent }
  /** Messages that waited are in the conversation now. */
  | { readonly type: 'taken'; readonly ids: readonly string[]; readonly turn: number }
  | { readonly type: 'question'; readonly question: Question }
  | { readonly type: 'question_closed'; readonly id: string; readonly because: 'answered' | 'withdrawn' }
  | { readonly type: 'limit_question'; readonly request: LimitRequest }
  | { readonly type: 'limit_question_closed'; readonly id: string; readonly because: 'answered' | 'withdrawn' }
  /** Something of the snapshot is another. Told once for what changes at once. */
  | { readonly type: 'changed' }
  /** After the run's result. */
  | { readonly type: 'run_end'; readonly runId: string; readonly terminal: RunResult; readonly result: SdkResult }
  /** A run broke before it had a result: what could not be begun or written. `givenBack`: the message that it would have begun with. */
  | {
      readonly type: 'failed'
      readonly error: unknown
      readonly givenBack: readonly QueuedMessage[]
      /** What broke is a stage after a run, which has its result. Another run may go on by now, and does. */
      readonly isAfterRun?: true
    }
  /** What a person should know, in one sentence. */
  | { readonly type: 'note'; readonly text: string }
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
  readonly files: readonly string[]
  readonly insertions: number
  readonly deletions: number
  /** Left as they are, and why. */
  readonly left: readonly { readonly path: string; readonly because: string }[]
}

/** How full the window of the model is, and at how many tokens the conversation is compacted. */
export interface ContextUsage {
  readonly totalTokens: number
  readonly maxTokens: number | null
  readonly compactsAt: number | null
  readonly categories: readonly { readonly name: string; readonly tokens: number }[]
  /** Of what the model is shown of each tool. */
  readonly tools: readonly { readonly name: string; readonly tokens: number }[]
  /** What the service counted with the last reply; null where there is none. */
  readonly lastUsage: Usage | null
}
