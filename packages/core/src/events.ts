import type { RetriesLeft, Ranking, IterationReason } from './allowance.ts'
import type { BudgetCompletionEvent } from './budget/token-target.ts'
import type { CompactionTrigger } from './context/port.ts'
import type { WindowFigures } from './context/window.ts'
import type { GoalCheck, GoalPlace } from './goals/goal-record.ts'
import type { CancellationPoint, GuardRemaining } from './guards/guard.ts'
import type { HookOutcome, HookTrigger } from './hooks/hook-outcome.ts'
import type { StopHookOutcome } from './hooks/stop-hooks.ts'
import type { Json } from './json.ts'
import type { LimitRequest, RaisableLimit } from './limit-question.ts'
import type { ContentBlock, Usage } from './messages.ts'
import type { ModelErrorJson } from './model/model-error.ts'
import type { ModelUpdate } from './model/model.ts'
import type { ServiceWaitEnd } from './model/service-waits.ts'
import type { SettingsChange } from './settings/settings-change.ts'
import type { RunIdentity } from './state.ts'
import type { StopSignal } from './endings/signal.ts'
import type { RunResult } from './endings/terminal.ts'
import type { TranscriptEntry } from './transcript.ts'

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
  | { readonly type: 'run_start'; readonly run: RunIdentity; readonly model: string; readonly isResumed?: true }
  /** A request of the conversation begins: the `request`-th of the run, in its `turn`-th turn. */
  | { readonly type: 'turn_start'; readonly request: number; readonly turn: number }
  /** The model is called: the first attempt at a request, or a retry. */
  | { readonly type: 'model_start'; readonly request: number; readonly attempt: number; readonly model: string }
  /** Live: what the model streams. A failed attempt leaves its updates behind: the next `model_start` begins anew. */
  | {
      readonly type: 'model_update'
      readonly request: number
      /** The id that the entry of this reply will have, when it is kept. */
      readonly entryId: string
      readonly update: ModelUpdate
    }
  /** An attempt has ended, with its usage and cost. */
  | {
      readonly type: 'model_end'
      readonly request: number
      readonly attempt: number
      readonly outcome: 'answered' | 'failed' | 'aborted' | 'over_budget' | 'unknown'
      readonly usage: Usage | null
      readonly costUsd: number
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
      readonly reservedUsd: number
      /** Null: no limit. The same goes for the others that are left. */
      readonly leftUsd: number | null
      readonly settledTokens: number
      readonly reservedTokens: number
      readonly leftTokens: number | null
      /** Requests that wait for what others have reserved. */
      readonly waitingRequests: number
      /** What the request has, estimated; after the reply what the service counted, the reply with it. */
      readonly contextTokens: number
      /** Null for a model without an end to its window. */
      readonly contextWindow: number | null
      /** Active milliseconds. */
      readonly usedMs: number
      readonly leftMs: number | null
      /** Calls of tools that count against the limit, by what is on record; absent for none, and in what a subagent tells. */
      readonly toolCalls?: number
    }
  /**
   * Live: a request begins to wait for what others have reserved of a limit, or ends to (spec R-BUD-18). It needs so much, and others have so much reserved,
   * in so many requests. `budget`: the name of a standing budget, whose others may be in other processes.
   */
  | ({ readonly type: 'budget_wait'; readonly isWaiting: boolean; readonly budget?: string } & FundsWanted)
  /** A request has waited for what others had reserved, with what came of it. */
  | ({
      readonly type: 'budget_waited'
      readonly outcome: 'granted' | 'refused' | 'aborted'
      readonly waitedMs: number
      readonly budget?: string
    } & FundsWanted)
  /**
   * Live: an attempt at a question beside the conversation: one that a compaction, a hook or a tool asks. Its `name` is that of its step without the
   * number of the attempt, such as `compact:2:auto/1`. What it cost is in the figures of the run.
   */
  | {
      readonly type: 'question_start'
      readonly name: string
      readonly attempt: number
      readonly model: string
    }
  /** Live: such an attempt has ended. */
  | {
      readonly type: 'question_end'
      readonly name: string
      readonly attempt: number
      readonly model: string
      readonly outcome: 'answered' | 'failed' | 'aborted'
      readonly usage: Usage | null
      readonly costUsd: number
    }
  /** After each reply that was counted: how full the window is, for a meter (spec R-CTX-11). */
  | { readonly type: 'context'; readonly figures: WindowFigures }
  /** Old results gave way to notes. */
  | { readonly type: 'results_cleared'; readonly calls: number; readonly freedTokens: number }
  /** An attempt failed, and the next one follows after `delayMs` milliseconds. */
  | {
      readonly type: 'retry'
      readonly request: number
      readonly attempt: number
      readonly maxRetries: number
      readonly delayMs: number
      readonly error: ModelErrorJson
    }
  /** Live: a request begins to wait for a service, or ends to (spec R-SERV-1). When it began and when it goes on at the latest, in milliseconds since 1970. */
  | {
      readonly type: 'service_wait'
      readonly isWaiting: boolean
      readonly model: string
      readonly error: ModelErrorJson
      readonly sinceMs: number
      readonly untilMs: number
    }
  /** A request has waited for a service, with what ended it. `waitedMs`: by the wall clock. */
  | {
      readonly type: 'service_waited'
      readonly outcome: ServiceWaitEnd
      readonly waitedMs: number
      readonly model: string
      readonly error: ModelErrorJson
    }
  /** A message was added to the conversation: a reply, the results of tools, or what a person, a hook or the run itself added. */
  | { readonly type: 'message'; readonly entry: TranscriptEntry }
  /** A call of the reply is about to be handled: its permission, its hooks, then the tool. `input`: as the model wrote it. */
  | { readonly type: 'tool_start'; readonly callId: string; readonly name: string; readonly input: unknown }
  /** Live: the tool itself begins; the call is allowed, and no record has its result. May come before `tool_start` where the reply still streams. */
  | { readonly type: 'tool_running'; readonly callId: string; readonly name: string }
  /** Live: progress that a tool reports while it runs. */
  | { readonly type: 'tool_update'; readonly callId: string; readonly name: string; readonly data: Json }
  /** A call has its result: after its hooks have seen it, and a large one was saved. */
  | {
      readonly type: 'tool_end'
      readonly callId: string
      readonly name: string
      readonly status: ToolStatus
      readonly durationMs: number
      /** What the model is shown of the result. */
      readonly output: string | readonly ContentBlock[]
      /** The model is told that the call failed. */
      readonly isError: boolean
    }
  /** A rule, a hook or a person refused a call. Its `tool_end` follows. */
  | {
      readonly type: 'permission_denied'
      readonly callId: string
      readonly name: string
      readonly input: unknown
      readonly message: string
    }
  /** A call needs the permission of a person. */
  | {
      readonly type: 'approval_needed'
      readonly callId: string
      readonly name: string
      readonly input: unknown
      readonly message: string
      /** For `RunStream.answer`; null when the run ends instead of waiting. */
      readonly key: string | null
    }
  /** The run pauses at a limit and asks whether it is raised (spec R-PAUSE-1). */
  | { readonly type: 'limit_question'; readonly request: LimitRequest }
  /**
   * The pause is over. `raised`: by an answer, or by who set the limit meanwhile; `ended`: the answer was to end; `over`: nobody answered in time; `stopped`
   * and `aborted`: somebody ended the run. `to`: the limit from here on, null for none; absent where it was not raised. `waitedMs` by the wall clock.
   */
  | {
      readonly type: 'limit_answered'
      readonly id: string
      readonly limit: RaisableLimit
      readonly outcome: 'raised' | 'ended' | 'over' | 'stopped' | 'aborted'
      readonly to?: number | null
      readonly waitedMs: number
    }
  /** A hook is called. */
  | {
      readonly type: 'hook_start'
      readonly hook: string
      readonly trigger: HookTrigger | 'stopHook'
      readonly callId: string | null
    }
  /** A hook has answered, with its outcome. */
  | {
      readonly type: 'hook_end'
      readonly hook: string
      readonly trigger: HookTrigger | 'stopHook'
      readonly callId: string | null
      readonly outcome: HookOutcome | StopHookOutcome
      readonly durationMs: number
    }
  /** A guard, a hook, a tool or a person raised a stop signal. */
  | { readonly type: 'signal'; readonly signal: StopSignal; readonly checkpoint: CancellationPoint }
  /** A guard decided to continue in spite of these signals. */
  | { readonly type: 'signals_overridden'; readonly by: string; readonly signals: readonly StopSignal[] }
  /** The conversation is about to be compacted. `tokens`: its estimated size. */
  | { readonly type: 'compact_start'; readonly trigger: CompactionTrigger; readonly tokens: number }
  /** The compaction has ended, with or without success. */
  | {
      readonly type: 'compact_end'
      readonly trigger: CompactionTrigger
      readonly compacted: boolean
      readonly message: string
    }
  /** The token target of the run continues or ends it. */
  | { readonly type: 'token_budget'; readonly completion: BudgetCompletionEvent }
  /** The goals are about to be checked. `tries`: how often an answer was sent back so far, of at most `maxTries`. */
  | {
      readonly type: 'goal_start'
      readonly place: GoalPlace
      readonly goals: readonly string[]
      readonly tries: number
      readonly maxTries: number
    }
  /** The goals were checked. */
  | {
      readonly type: 'goal_end'
      readonly place: GoalPlace
      readonly met: boolean
      /** Up to the first that failed. */
      readonly checks: readonly GoalCheck[]
      readonly tampered: readonly string[]
      readonly changedByChecks: readonly string[]
      readonly changedTests: readonly string[]
      readonly tries: number
      readonly maxTries: number
      readonly flaky: boolean
      readonly durationMs: number
    }
  /** Before a turn: how near the guards are to firing, those that can say. */
  | { readonly type: 'guards'; readonly remaining: readonly GuardRemaining[] }
  /** The next iteration begins, and why. */
  | {
      readonly type: 'lap'
      readonly transition: IterationReason
      readonly before: Ranking
      readonly after: Ranking
      /** How often each transition may still be taken, once this lap is paid for. */
      readonly left: RetriesLeft
    }
  /** Something was set by a person; from here on it counts. Only here may the ranking rise. */
  | { readonly type: 'settings'; readonly change: SettingsChange }
  /** A sentence for a person. */
  | { readonly type: 'notice'; readonly message: string }
  /** An event of a subagent, which works for this call. */
  | {
      readonly type: 'agent'
      readonly callId: string
      readonly agentType: string
      /** What it is to do, where its tool said so. */
      readonly description?: string
      /** It works in the background: its call has ended. */
      readonly inBackground?: true
      readonly event: RunEvent
    }
  /** Work that the run started and does not wait for has ended. `error`: null for success. */
  | { readonly type: 'background'; readonly name: string; readonly error: string | null }
  /** The run has ended. Always the last event. */
  | { readonly type: 'run_end'; readonly terminal: RunResult }

export type Emit = (event: RunEvent) => void
