import type { RetriesLeft, Ranking, IterationReason } from '../limits/transition-rules.ts'
import type { BudgetCompletionEvent } from '../limits/token-target.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import type { WindowFigures } from '../model/window.ts'
import type { GoalCheck, GoalPlace } from '../verification/goal-record.ts'
import type { CancellationPoint, GuardRemaining } from '../limits/guard.ts'
import type { HookOutcome, HookTrigger } from '../hooks/hook-outcome.ts'
import type { StopHookOutcome } from '../hooks/stop-hooks.ts'
import type { Json } from '../values/json.ts'
import type { LimitRequest, RaisableLimit } from './limit-request.ts'
import type { ContentBlock, Usage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { ServiceWaitEnd } from '../model/service-waits.ts'
import type { SettingsChange } from './settings-change.ts'
import type { RunIdentity } from './state.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'

/** How a tool call got its result. */
export type ToolStatus =
  | 'done'
  | 'failed'
  /** Unknown tool or invalid input. */
  | 'invalid'
  | 'denied'
  /** Not started, because the run stopped before. */
  | 'not_run'
  /** Aborted, whether or not it finished; its result is synthetic. */
  | 'interrupted'
  /** Its start is recorded, but not its end: the outcome is unknown. */
  | 'unknown'

/** The reservations that a request waits for: what others have reserved of a limit, in US dollars and tokens. */
export interface FundsWanted {
  readonly neededUsd: number
  readonly neededTokens: number
  readonly reservedUsd: number
  readonly reservedTokens: number
  /** Number of requests with these reservations. */
  readonly holders: number
}

/**
 * All events of a run, a closed union. Events marked *live* come from inside a side effect. They are for display only, and a replay does not repeat them;
 * it repeats all others in the same order.
 *
 * ```
 * run_start
 *   turn_start  [guards]
 *     model_start  figures (live)  model_update* (live)  figures (live)  model_end  [retry …]  message
 *     tool_start  tool_update* (live)  tool_end  …  message
 *   lap
 *   …
 * run_end
 * ```
 */
export type RunEvent =
  /** The run begins, or continues from its record (`isResumed`). Emitted once for each process that runs it, before every other event. */
  | {
      readonly type: 'run_start'
      /** The identity of the run: session, run and agent. */
      readonly run: RunIdentity
      /** Id of the model. */
      readonly model: string
      readonly isResumed?: true
    }
  /** A request of the conversation begins: the `request`-th of the run, in its `turn`-th turn. */
  | {
      readonly type: 'turn_start'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the turn in the run, from 1. */
      readonly turn: number
    }
  /** The model is called: the first attempt at a request, or a retry. */
  | {
      readonly type: 'model_start'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the attempt at this request, from 1. */
      readonly attempt: number
      /** Id of the model that is asked. */
      readonly model: string
    }
  /** Live: a part of the streamed reply. Updates of a failed attempt are void: the next `model_start` starts over. */
  | {
      readonly type: 'model_update'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** The id that the transcript entry of this reply will have, if it is appended. */
      readonly entryId: string
      /** The streamed part. */
      readonly update: ModelUpdate
    }
  /** An attempt has ended, with its usage and cost. */
  | {
      readonly type: 'model_end'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the attempt at this request, from 1. */
      readonly attempt: number
      /** How it ended. `over_budget`: the budget had no room, and no request was made; `unknown`: its reply was lost. */
      readonly outcome: 'answered' | 'failed' | 'aborted' | 'over_budget' | 'unknown'
      /** Tokens that the service reported; null for none. */
      readonly usage: Usage | null
      /** US dollars that were charged; the worst case if the service reported nothing. */
      readonly costUsd: number
      /** Milliseconds that the attempt took. */
      readonly durationMs: number
    }
  /**
   * Live: the current figures, after an amount was reserved for a request and after it was settled. Dollars, tokens and
   * time are those of the whole run, including subagents, even if a subagent reports them. The remaining amounts follow
   * from the narrowest limit, including the session's. The window is that of the requested model.
   */
  | {
      readonly type: 'figures'
      /** US dollars of finished requests, including the worst cases of unreported ones. */
      readonly settledUsd: number
      /** The unreported part of `settledUsd`. */
      readonly unknownUsd: number
      /** US dollars reserved for requests in flight. */
      readonly reservedUsd: number
      /** US dollars that the narrowest limit leaves; null for no limit. */
      readonly leftUsd: number | null
      /** Input and output tokens of finished requests. */
      readonly settledTokens: number
      /** Tokens reserved for requests in flight. */
      readonly reservedTokens: number
      /** Tokens that the narrowest limit leaves; null for no limit. */
      readonly leftTokens: number | null
      /** Requests that wait for reservations of others to be released. */
      readonly waitingRequests: number
      /** Estimated tokens of the request. After the reply, the service's count including the reply. */
      readonly contextTokens: number
      /** Null for a model without a limit on its window. */
      readonly contextWindow: number | null
      /** Active milliseconds. */
      readonly usedMs: number
      /** Active milliseconds that the narrowest limit leaves; null for no limit. */
      readonly leftMs: number | null
      /** Recorded tool calls that count against the limit; absent for none, and in events of subagents. */
      readonly toolCalls?: number
    }
  // Spec R-BUD-18.
  /**
   * Live: a request starts or stops waiting for reservations of others. It reports what the request needs, and what
   * others have reserved in how many requests. `budget`: the name of a standing budget, which other processes may use
   * too.
   */
  | ({
      readonly type: 'budget_wait'
      /** Whether the wait begins, or ends. */
      readonly isWaiting: boolean
      /** Name of the standing budget; absent for a limit of the run. */
      readonly budget?: string
    } & FundsWanted)
  /** A request has waited for reservations of others. Reports the outcome. */
  | ({
      readonly type: 'budget_waited'
      /** The outcome of the wait: the request is made, it still does not fit, or the run was aborted. */
      readonly outcome: 'granted' | 'refused' | 'aborted'
      /** Wall-clock milliseconds. */
      readonly waitedMs: number
      /** Name of the standing budget; absent for a limit of the run. */
      readonly budget?: string
    } & FundsWanted)
  /**
   * Live: an attempt at a side request, made by a compaction, a hook or a tool. Its `name` is that of its step without
   * the number of the attempt, such as `compact:2:auto/1`. Its cost is in the figures of the run.
   */
  | {
      readonly type: 'question_start'
      /** Name of the step without the number of the attempt. */
      readonly name: string
      /** Number of the attempt, from 1. */
      readonly attempt: number
      /** Id of the model that is asked. */
      readonly model: string
    }
  /** Live: an attempt at a side request has ended. */
  | {
      readonly type: 'question_end'
      /** Name of the step without the number of the attempt. */
      readonly name: string
      /** Number of the attempt, from 1. */
      readonly attempt: number
      /** Id of the model that was asked. */
      readonly model: string
      /** How the attempt ended. */
      readonly outcome: 'answered' | 'failed' | 'aborted'
      /** Tokens that the service reported; null for none. */
      readonly usage: Usage | null
      /** US dollars that were charged. */
      readonly costUsd: number
    }
  // Spec R-CTX-11.
  /** After each reply with a token count: how full the context window is, for a meter. */
  | {
      readonly type: 'context'
      /** The figures of the window. */
      readonly figures: WindowFigures
    }
  /** Old tool results were replaced by notes. */
  | {
      readonly type: 'results_cleared'
      /** Number of calls whose results were cleared. */
      readonly calls: number
      /** Estimated number of freed tokens. */
      readonly freedTokens: number
    }
  /** An attempt failed, and the next one follows after `delayMs` milliseconds. */
  | {
      readonly type: 'retry'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the attempt that failed, from 1. */
      readonly attempt: number
      /** Maximum number of retries of the request. */
      readonly maxRetries: number
      /** Milliseconds until the next attempt. */
      readonly delayMs: number
      /** Why the attempt failed. */
      readonly error: ModelErrorJson
    }
  // Spec R-SERV-1.
  /** Live: a request starts or stops waiting for a service. Reports the start and the latest end of the wait, in milliseconds since 1970. */
  | {
      readonly type: 'service_wait'
      /** Whether the wait begins, or ends. */
      readonly isWaiting: boolean
      /** Id of the model. */
      readonly model: string
      /** Why the service did not answer. */
      readonly error: ModelErrorJson
      /** When the wait began, in milliseconds since 1970. */
      readonly sinceMs: number
      /** When it ends at the latest, in milliseconds since 1970. */
      readonly untilMs: number
    }
  /** A request has waited for a service, with the reason for the end of the wait. `waitedMs`: by the wall clock. */
  | {
      readonly type: 'service_waited'
      /** The reason for the end of the wait. */
      readonly outcome: ServiceWaitEnd
      /** Wall-clock milliseconds. */
      readonly waitedMs: number
      /** Id of the model. */
      readonly model: string
      /** Why the service did not answer. */
      readonly error: ModelErrorJson
    }
  /** A message was added to the conversation: a reply, tool results, or a message of a person, a hook or the run itself. */
  | {
      readonly type: 'message'
      /** The entry of the transcript. */
      readonly entry: TranscriptEntry
    }
  /** A call of the reply is about to be handled: its permission, its hooks, then the tool. `input`: as the model wrote it. */
  | {
      readonly type: 'tool_start'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** Input of the call, as the model wrote it. */
      readonly input: unknown
    }
  /** Live: the tool itself starts. The call is allowed, and its result is not recorded yet. May precede `tool_start` while the reply still streams. */
  | {
      readonly type: 'tool_running'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
    }
  /** Live: progress that a tool reports while it runs. */
  | {
      readonly type: 'tool_update'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** The progress. */
      readonly data: Json
    }
  /** A call has its result, after its hooks have seen it and a large result was stored. */
  | {
      readonly type: 'tool_end'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** The status of the call. */
      readonly status: ToolStatus
      /** Milliseconds that the tool took. */
      readonly durationMs: number
      /** The result as the model sees it. */
      readonly output: string | readonly ContentBlock[]
      /** Whether the result is an error for the model. */
      readonly isError: boolean
    }
  /** A rule, a hook or a person refused a call. Its `tool_end` follows. */
  | {
      readonly type: 'permission_denied'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** Input of the call. */
      readonly input: unknown
      /** Why it was refused, as reported to the model. */
      readonly message: string
    }
  /** A call needs the permission of a person. */
  | {
      readonly type: 'approval_needed'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** Input of the call. */
      readonly input: unknown
      /** Why a person is asked. */
      readonly message: string
      /** For `RunStream.answer`; null when the run ends instead of waiting. */
      readonly key: string | null
    }
  // Spec R-PAUSE-1.
  /** The run pauses at a limit and asks whether to raise it. */
  | {
      readonly type: 'limit_question'
      /** The request. */
      readonly request: LimitRequest
    }
  /**
   * The pause is over. `raised`: by an answer, or by a change of settings. `ended`: the answer was to end. `over`: the
   * timeout expired. `stopped` and `aborted`: the run was stopped or aborted. `to`: the new limit, null for none; absent
   * if it was not raised. `waitedMs` by the wall clock.
   */
  | {
      readonly type: 'limit_answered'
      /** Id of the request. */
      readonly id: string
      /** The limit. */
      readonly limit: RaisableLimit
      /** How the pause ended. */
      readonly outcome: 'raised' | 'ended' | 'over' | 'stopped' | 'aborted'
      /** The new limit, in its unit; null for no limit, absent if it was not raised. */
      readonly to?: number | null
      /** Wall-clock milliseconds. */
      readonly waitedMs: number
    }
  /** A hook is called. */
  | {
      readonly type: 'hook_start'
      /** Id of the hook. */
      readonly hook: string
      /** The trigger that it is called at. */
      readonly trigger: HookTrigger | 'stopHook'
      /** The call that it concerns; null for none. */
      readonly callId: string | null
    }
  /** A hook has answered, with its outcome. */
  | {
      readonly type: 'hook_end'
      /** Id of the hook. */
      readonly hook: string
      /** The trigger that it was called at. */
      readonly trigger: HookTrigger | 'stopHook'
      /** The call that it concerns; null for none. */
      readonly callId: string | null
      /** Its decision. */
      readonly outcome: HookOutcome | StopHookOutcome
      /** Milliseconds that it took. */
      readonly durationMs: number
    }
  /** A guard, a hook, a tool or a person raised a stop signal. */
  | {
      readonly type: 'signal'
      /** The signal. */
      readonly signal: StopSignal
      /** The cancellation point at which it was raised. */
      readonly checkpoint: CancellationPoint
    }
  /** A hook requested to continue in spite of these signals. */
  | {
      readonly type: 'signals_overridden'
      /** Id of the hook that requested to continue. */
      readonly by: string
      /** The signals that it overrode. */
      readonly signals: readonly StopSignal[]
    }
  /** The conversation is about to be compacted. `tokens`: its estimated size. */
  | {
      readonly type: 'compact_start'
      /** Why the conversation is compacted. */
      readonly trigger: CompactionTrigger
      /** Estimated tokens of the conversation. */
      readonly tokens: number
    }
  /** The compaction has ended, with or without success. */
  | {
      readonly type: 'compact_end'
      /** Why the conversation was compacted. */
      readonly trigger: CompactionTrigger
      /** Whether it was compacted. */
      readonly compacted: boolean
      /** The outcome, in a sentence. */
      readonly message: string
    }
  /** The token target of the run continues or ends it. */
  | {
      readonly type: 'token_budget'
      /** How the target ended, or its progress. */
      readonly completion: BudgetCompletionEvent
    }
  /** The goals are about to be checked. `tries`: how often the model was asked to continue so far, at most `maxTries`. */
  | {
      readonly type: 'goal_start'
      /** When they are checked. */
      readonly place: GoalPlace
      /** The names of the goals. */
      readonly goals: readonly string[]
      /** How often the model was asked to continue so far. */
      readonly tries: number
      /** Maximum number of tries. */
      readonly maxTries: number
    }
  /** The goals were checked. */
  | {
      readonly type: 'goal_end'
      /** When they were checked. */
      readonly place: GoalPlace
      /** Whether every check passed and nothing protected changed. */
      readonly met: boolean
      /** The results of the checks, up to the first that failed. */
      readonly checks: readonly GoalCheck[]
      /** Protected files that have changed. */
      readonly tampered: readonly string[]
      /** Files that the checks themselves changed. */
      readonly changedByChecks: readonly string[]
      /** Tests that changed since the goals were set. */
      readonly changedTests: readonly string[]
      /** How often the model was asked to continue before this round. */
      readonly tries: number
      /** Maximum number of tries. */
      readonly maxTries: number
      /** Whether the same state was checked twice with different verdicts. */
      readonly flaky: boolean
      /** Milliseconds that the checks took. */
      readonly durationMs: number
    }
  /** Before a turn: how near the guards are to firing, for those that report it. */
  | {
      readonly type: 'guards'
      /** How near each guard is. */
      readonly remaining: readonly GuardRemaining[]
    }
  /** The next iteration begins, with its reason. */
  | {
      readonly type: 'lap'
      /** Why there is another iteration. */
      readonly transition: IterationReason
      /** The ranking before it: what is left of all retry limits. */
      readonly before: Ranking
      /** The ranking after it, which is lower. */
      readonly after: Ranking
      /** How often each transition may still be taken after this iteration was charged. */
      readonly left: RetriesLeft
    }
  /** A person changed settings, which apply from here on. Only this event may raise the ranking. */
  | {
      readonly type: 'settings'
      /** The change. */
      readonly change: SettingsChange
    }
  /** A sentence for a person. */
  | {
      readonly type: 'notice'
      /** The sentence. */
      readonly message: string
    }
  /** An event of a subagent, which works for this call. */
  | {
      readonly type: 'agent'
      /** The call that started the subagent. */
      readonly callId: string
      /** The kind of subagent. */
      readonly agentType: string
      /** Its task, if its tool described it. */
      readonly description?: string
      /** Whether it works in the background: its call has ended. */
      readonly inBackground?: true
      /** The event of the subagent. */
      readonly event: RunEvent
    }
  /** Work that the run started without waiting for it has ended. `error`: null for success. */
  | {
      readonly type: 'background'
      /** Name of the work. */
      readonly name: string
      /** Why it failed; null for success. */
      readonly error: string | null
    }
  /** The run has ended. Always the last event. */
  | {
      readonly type: 'run_end'
      /** How the run ended. */
      readonly terminal: RunResult
    }

export type Emit = (event: RunEvent) => void
