import type { RetriesLeft, Ranking, IterationReason } from '../limits/allowance.ts'
import type { BudgetCompletionEvent } from '../limits/token-target.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import type { WindowFigures } from '../model/window.ts'
import type { GoalCheck, GoalPlace } from '../verification/goal-record.ts'
import type { CancellationPoint, GuardRemaining } from '../limits/guard.ts'
import type { HookOutcome, HookTrigger } from '../hooks/hook-outcome.ts'
import type { StopHookOutcome } from '../hooks/stop-hooks.ts'
import type { Json } from '../values/json.ts'
import type { LimitRequest, RaisableLimit } from './limit-question.ts'
import type { ContentBlock, Usage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { ModelUpdate } from '../model/model.ts'
import type { ServiceWaitEnd } from '../model/service-waits.ts'
import type { SettingsChange } from './settings-change.ts'
import type { RunIdentity } from './state.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'

/** How a tool call came to its result. */
export type ToolStatus =
  | 'done'
  | 'failed'
  /** Unknown tool or invalid input. */
  | 'invalid'
  | 'denied'
  /** Not started: the run stopped before. */
  | 'not_run'
  /** Aborted; finished or not, its result is synthetic. */
  | 'interrupted'
  /** On record as begun, never as ended: the outcome is unknown. */
  | 'unknown'

/** What a request waits for: what others have reserved of a limit, in US dollars and tokens. */
export interface FundsWanted {
  readonly neededUsd: number
  readonly neededTokens: number
  readonly reservedUsd: number
  readonly reservedTokens: number
  /** In how many requests that is. */
  readonly holders: number
}

/**
 * Everything that a run tells, a closed union. Events marked *live* come from inside an effect, are for looking at, and are not repeated by a replay;
 * all others are, the same and in the same order.
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
  /** The run begins, or continues from its record (`isResumed`). Once for each process that runs it, before every other event. */
  | {
      readonly type: 'run_start'
      /** Who runs: session, run and agent. */
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
  /** Live: what the model streams. A failed attempt leaves its updates behind: the next `model_start` begins anew. */
  | {
      readonly type: 'model_update'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** The id that the entry of this reply will have, when it is kept. */
      readonly entryId: string
      /** What was streamed. */
      readonly update: ModelUpdate
    }
  /** An attempt has ended, with its usage and cost. */
  | {
      readonly type: 'model_end'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the attempt at this request, from 1. */
      readonly attempt: number
      /** How it ended. `over_budget`: the budget had no room, and nothing was asked; `unknown`: its reply was lost. */
      readonly outcome: 'answered' | 'failed' | 'aborted' | 'over_budget' | 'unknown'
      /** Tokens that the service reported; null for none. */
      readonly usage: Usage | null
      /** US dollars that were charged; at worst case where the service reported nothing. */
      readonly costUsd: number
      /** Milliseconds that the attempt took. */
      readonly durationMs: number
    }
  /**
   * Live: what stands, after an amount was reserved for a request and after it was settled. Dollars, tokens and time are those of the whole run, subagents
   * included, whoever tells; what is left is what the narrowest limit leaves, the session's too. The window is that of the model which is asked.
   */
  | {
      readonly type: 'figures'
      /** Worst cases of what nobody told included. */
      readonly settledUsd: number
      /** Of what is settled: what nobody told. */
      readonly unknownUsd: number
      /** US dollars reserved for requests under way. */
      readonly reservedUsd: number
      /** Null: no limit. The same goes for the others that are left. */
      readonly leftUsd: number | null
      /** Input and output tokens of finished requests. */
      readonly settledTokens: number
      /** Tokens reserved for requests under way. */
      readonly reservedTokens: number
      /** Tokens that the narrowest limit leaves; null for no limit. */
      readonly leftTokens: number | null
      /** Requests that wait for what others have reserved. */
      readonly waitingRequests: number
      /** What the request has, estimated; after the reply what the service counted, the reply with it. */
      readonly contextTokens: number
      /** Null for a model without an end to its window. */
      readonly contextWindow: number | null
      /** Active milliseconds. */
      readonly usedMs: number
      /** Active milliseconds that the narrowest limit leaves; null for no limit. */
      readonly leftMs: number | null
      /** Calls of tools that count against the limit, by what is on record; absent for none, and in what a subagent tells. */
      readonly toolCalls?: number
    }
  // Spec R-BUD-18.
  /**
   * Live: a request begins to wait for what others have reserved of a limit, or ends to. It needs so much, and others have so much reserved,
   * in so many requests. `budget`: the name of a standing budget, whose others may be in other processes.
   */
  | ({
      readonly type: 'budget_wait'
      /** Whether the wait begins, or ends. */
      readonly isWaiting: boolean
      /** Name of the standing budget; absent for a limit of the run. */
      readonly budget?: string
    } & FundsWanted)
  /** A request has waited for what others had reserved, with what came of it. */
  | ({
      readonly type: 'budget_waited'
      /** What the wait came to: the request is made, it still does not fit, or the run was aborted. */
      readonly outcome: 'granted' | 'refused' | 'aborted'
      /** Milliseconds by the wall clock. */
      readonly waitedMs: number
      /** Name of the standing budget; absent for a limit of the run. */
      readonly budget?: string
    } & FundsWanted)
  /**
   * Live: an attempt at a question beside the conversation: one that a compaction, a hook or a tool asks. Its `name` is that of its step without the
   * number of the attempt, such as `compact:2:auto/1`. What it cost is in the figures of the run.
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
  /** Live: such an attempt has ended. */
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
  /** After each reply that was counted: how full the window is, for a meter. */
  | {
      readonly type: 'context'
      /** How full the window is. */
      readonly figures: WindowFigures
    }
  /** Old results gave way to notes. */
  | {
      readonly type: 'results_cleared'
      /** Number of the calls whose results were cleared. */
      readonly calls: number
      /** Tokens that this frees, estimated. */
      readonly freedTokens: number
    }
  /** An attempt failed, and the next one follows after `delayMs` milliseconds. */
  | {
      readonly type: 'retry'
      /** Number of the request in the run, from 1. */
      readonly request: number
      /** Number of the attempt that failed, from 1. */
      readonly attempt: number
      /** How many retries the request may have. */
      readonly maxRetries: number
      /** Milliseconds until the next attempt. */
      readonly delayMs: number
      /** Why the attempt failed. */
      readonly error: ModelErrorJson
    }
  // Spec R-SERV-1.
  /** Live: a request begins to wait for a service, or ends to. When it began and when it goes on at the latest, in milliseconds since 1970. */
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
  /** A request has waited for a service, with what ended it. `waitedMs`: by the wall clock. */
  | {
      readonly type: 'service_waited'
      /** What ended the wait. */
      readonly outcome: ServiceWaitEnd
      /** Milliseconds by the wall clock. */
      readonly waitedMs: number
      /** Id of the model. */
      readonly model: string
      /** Why the service did not answer. */
      readonly error: ModelErrorJson
    }
  /** A message was added to the conversation: a reply, the results of tools, or what a person, a hook or the run itself added. */
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
  /** Live: the tool itself begins; the call is allowed, and no record has its result. May come before `tool_start` where the reply still streams. */
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
      /** What the tool reports. */
      readonly data: Json
    }
  /** A call has its result: after its hooks have seen it, and a large one was saved. */
  | {
      readonly type: 'tool_end'
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
      /** What became of the call. */
      readonly status: ToolStatus
      /** Milliseconds that the tool took. */
      readonly durationMs: number
      /** What the model is shown of the result. */
      readonly output: string | readonly ContentBlock[]
      /** The model is told that the call failed. */
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
      /** Why it was refused, as the model is told. */
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
  /** The run pauses at a limit and asks whether it is raised. */
  | {
      readonly type: 'limit_question'
      /** What is asked. */
      readonly request: LimitRequest
    }
  /**
   * The pause is over. `raised`: by an answer, or by who set the limit meanwhile; `ended`: the answer was to end; `over`: nobody answered in time; `stopped`
   * and `aborted`: somebody ended the run. `to`: the limit from here on, null for none; absent where it was not raised. `waitedMs` by the wall clock.
   */
  | {
      readonly type: 'limit_answered'
      /** Id of the question. */
      readonly id: string
      /** Which limit it is. */
      readonly limit: RaisableLimit
      /** How the pause ended. */
      readonly outcome: 'raised' | 'ended' | 'over' | 'stopped' | 'aborted'
      /** The new limit, in its unit; null for no limit, absent where it was not raised. */
      readonly to?: number | null
      /** Milliseconds by the wall clock. */
      readonly waitedMs: number
    }
  /** A hook is called. */
  | {
      readonly type: 'hook_start'
      /** Id of the hook. */
      readonly hook: string
      /** The moment that it is called at. */
      readonly trigger: HookTrigger | 'stopHook'
      /** The call that it is about; null for none. */
      readonly callId: string | null
    }
  /** A hook has answered, with its outcome. */
  | {
      readonly type: 'hook_end'
      /** Id of the hook. */
      readonly hook: string
      /** The moment that it was called at. */
      readonly trigger: HookTrigger | 'stopHook'
      /** The call that it is about; null for none. */
      readonly callId: string | null
      /** What it decided. */
      readonly outcome: HookOutcome | StopHookOutcome
      /** Milliseconds that it took. */
      readonly durationMs: number
    }
  /** A guard, a hook, a tool or a person raised a stop signal. */
  | {
      readonly type: 'signal'
      /** The signal. */
      readonly signal: StopSignal
      /** Where it was raised. */
      readonly checkpoint: CancellationPoint
    }
  /** A guard decided to continue in spite of these signals. */
  | {
      readonly type: 'signals_overridden'
      /** Id of the hook that asked to continue. */
      readonly by: string
      /** The signals that it overrode. */
      readonly signals: readonly StopSignal[]
    }
  /** The conversation is about to be compacted. `tokens`: its estimated size. */
  | {
      readonly type: 'compact_start'
      /** Why the conversation is compacted. */
      readonly trigger: CompactionTrigger
      /** Tokens of the conversation, estimated. */
      readonly tokens: number
    }
  /** The compaction has ended, with or without success. */
  | {
      readonly type: 'compact_end'
      /** Why the conversation was compacted. */
      readonly trigger: CompactionTrigger
      /** Whether it was compacted. */
      readonly compacted: boolean
      /** What came of it, in a sentence. */
      readonly message: string
    }
  /** The token target of the run continues or ends it. */
  | {
      readonly type: 'token_budget'
      /** How the target ended, or how far it is. */
      readonly completion: BudgetCompletionEvent
    }
  /** The goals are about to be checked. `tries`: how often an answer was sent back so far, of at most `maxTries`. */
  | {
      readonly type: 'goal_start'
      /** When they are checked. */
      readonly place: GoalPlace
      /** The goals, in words. */
      readonly goals: readonly string[]
      /** How often an answer was sent back so far. */
      readonly tries: number
      /** How often an answer may be sent back. */
      readonly maxTries: number
    }
  /** The goals were checked. */
  | {
      readonly type: 'goal_end'
      /** When they were checked. */
      readonly place: GoalPlace
      /** Whether every check passed and nothing protected changed. */
      readonly met: boolean
      /** Up to the first that failed. */
      readonly checks: readonly GoalCheck[]
      /** Protected files that have changed. */
      readonly tampered: readonly string[]
      /** Files that the checks themselves changed. */
      readonly changedByChecks: readonly string[]
      /** Tests that changed since the goals were set. */
      readonly changedTests: readonly string[]
      /** How often an answer was sent back before this round. */
      readonly tries: number
      /** How often an answer may be sent back. */
      readonly maxTries: number
      /** Whether the same state was checked twice with different verdicts. */
      readonly flaky: boolean
      /** Milliseconds that the checks took. */
      readonly durationMs: number
    }
  /** Before a turn: how near the guards are to firing, those that can say. */
  | {
      readonly type: 'guards'
      /** How near each is. */
      readonly remaining: readonly GuardRemaining[]
    }
  /** The next iteration begins, and why. */
  | {
      readonly type: 'lap'
      /** Why there is another iteration. */
      readonly transition: IterationReason
      /** The ranking before it: what is left of all retry limits. */
      readonly before: Ranking
      /** The ranking after it, which is lower. */
      readonly after: Ranking
      /** How often each transition may still be taken, once this lap is paid for. */
      readonly left: RetriesLeft
    }
  /** Something was set by a person; from here on it counts. Only here may the ranking rise. */
  | {
      readonly type: 'settings'
      /** What was set. */
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
      /** What it is to do, where its tool said so. */
      readonly description?: string
      /** It works in the background: its call has ended. */
      readonly inBackground?: true
      /** The event of the subagent. */
      readonly event: RunEvent
    }
  /** Work that the run started and does not wait for has ended. `error`: null for success. */
  | {
      readonly type: 'background'
      /** What the work is called. */
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
