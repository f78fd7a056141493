import type { StageReason } from '../after/stage-record.ts'
import type { GoalCheck, GoalPlace, GoalResult } from '../goals/goal-record.ts'
import type { Json, JsonObject } from '../json.ts'
import type { ContentBlock, MessageContent, Usage } from '../messages.ts'
import type { ServiceWaitEnd } from '../model/service-waits.ts'
import type { ResultSubtype } from '../endings/ending.ts'
import type { StopCategory } from '../endings/reason.ts'

// The SDK message format (spec R-SDK-11): names and shapes are those that hosts of coding agents read already.

interface Base {
  readonly uuid: string
  readonly session_id: string
}

/** What `system/init` tells beside tools and model. */
export interface SdkInitInfo {
  readonly cwd: string
  readonly mcp_servers: readonly { readonly name: string; readonly status: string }[]
  readonly permissionMode: string
  readonly slash_commands: readonly string[]
  readonly output_style: string
  readonly skills: readonly string[]
  readonly plugins: readonly JsonObject[]
  /** Plugins that were not loaded, and parts of those that were; absent where there is none. */
  readonly plugin_errors?: readonly JsonObject[]
  readonly agents?: readonly string[]
  readonly apiKeySource: string
  readonly claude_code_version: string
  readonly capabilities?: readonly string[]
  /** Files of instructions that the model is shown. Ours. */
  readonly instructions?: readonly string[]
  /** Whether the folder is trusted, and what of its settings does not count because of that. Ours. */
  readonly trust?: {
    readonly folder: string
    readonly trusted: boolean
    readonly because: string
    readonly ignored: readonly string[]
    /** How to have it count. */
    readonly todo: string
  }
}

/** The first message of a run. */
export type SdkInit = Base &
  SdkInitInfo & {
    readonly type: 'system'
    readonly subtype: 'init'
    readonly tools: readonly string[]
    readonly model: string
  }

/** A message of the model, or one of ours that tells of a failure. */
export type SdkAssistant = Base & {
  readonly type: 'assistant'
  readonly message: {
    readonly id: string
    readonly type: 'message'
    readonly role: 'assistant'
    readonly model: string
    readonly content: readonly ContentBlock[]
    readonly stop_reason: string | null
    readonly stop_sequence: string | null
    readonly usage: Usage
  }
  readonly parent_tool_use_id: string | null
  readonly error?: string
  readonly aborted?: true
}

/** A message to the model: results of tools, or what a hook or the loop said. */
export type SdkUser = Base & {
  readonly type: 'user'
  readonly message: { readonly role: 'user'; readonly content: MessageContent }
  readonly parent_tool_use_id: string | null
  readonly isSynthetic?: true
  readonly tool_use_result?: Json
}

/** The service's own event, with `includePartialMessages`. */
export type SdkStreamEvent = Base & {
  readonly type: 'stream_event'
  readonly event: JsonObject
  readonly parent_tool_use_id: string | null
}

/** A tool that takes long, for a person. */
export type SdkToolProgress = Base & {
  readonly type: 'tool_progress'
  readonly tool_use_id: string
  readonly tool_name: string
  readonly parent_tool_use_id: string | null
  readonly elapsed_time_seconds: number
  /** For what it waits, in a few words; once, when it begins to. */
  readonly waits_for?: string
  /** When it waits no longer, whatever comes: milliseconds since 1970. */
  readonly waits_until_ms?: number
}

interface SdkHook {
  readonly hook_id: string
  readonly hook_name: string
  readonly hook_event: string
}

interface SdkHookOutput extends SdkHook {
  readonly stdout: string
  readonly stderr: string
  readonly output: string
}

/** What the run tells about itself: status, retries, compactions, hooks. */
export type SdkSystem = Base & { readonly type: 'system' } & (
    | {
        readonly subtype: 'compact_boundary'
        readonly compact_metadata: {
          readonly trigger: 'manual' | 'auto'
          readonly pre_tokens: number
          readonly post_tokens: number
        }
      }
    | { readonly subtype: 'status'; readonly status: 'compacting' | 'requesting' | null }
    | {
        readonly subtype: 'api_retry'
        readonly attempt: number
        readonly max_retries: number
        readonly retry_delay_ms: number
        readonly error_status: number | null
        readonly error: string
      }
    | (SdkHook & { readonly subtype: 'hook_started' })
    /** A hook that is a command has written something. */
    | (SdkHookOutput & { readonly subtype: 'hook_progress' })
    | (SdkHookOutput & {
        readonly subtype: 'hook_response'
        /** Of a hook that is a command. */
        readonly exit_code?: number
        readonly outcome: 'success' | 'error' | 'cancelled'
      })
    | {
        readonly subtype: 'permission_denied'
        readonly tool_name: string
        readonly tool_use_id: string
        readonly message: string
      }
    | { readonly subtype: 'informational'; readonly message: string }
    | {
        readonly subtype: 'task_started'
        readonly task_id: string
        readonly tool_use_id?: string
        readonly description: string
      }
    | {
        readonly subtype: 'task_notification'
        readonly task_id: string
        readonly tool_use_id?: string
        readonly status: string
        /** A file with all that it wrote; '' where there is none. */
        readonly output_file: string
        readonly summary: string
      }
    /** One round of checks of the goals of a run. Ours. */
    | {
        readonly subtype: 'goal_check'
        /** When: before the first request, at an answer, after a turn, or at a limit. */
        readonly place: GoalPlace
        readonly met: boolean
        /** Up to the first that failed, with the end of what each printed. */
        readonly checks: readonly GoalCheck[]
        /** Protected files that have changed: while they do, the goal is not met. */
        readonly tampered: readonly string[]
        readonly changed_by_checks: readonly string[]
        readonly changed_tests: readonly string[]
        /** How often an answer was sent back before this round, of `max_tries`. */
        readonly tries: number
        readonly max_tries: number
        /** Checked twice with nothing changed in between, it came to different verdicts. */
        readonly flaky: boolean
        readonly duration_ms: number
        /** The call that started the subagent whose goals they are. */
        readonly parent_tool_use_id: string | null
      }
    /** A request waits for its service, or has. Ours. */
    | (SdkServiceWait & { readonly state: 'waiting'; readonly since: string; readonly until: string })
    | (SdkServiceWait & { readonly state: 'ended'; readonly outcome: ServiceWaitEnd; readonly waited_ms: number })
    /** What the hooks of a run came to. Ours. */
    | {
        readonly subtype: 'hook_summary'
        readonly run_id: string
        readonly hooks: readonly SdkHookFigures[]
      }
  )

/** What is known of a request that waits for its service. Moments are ISO texts. */
interface SdkServiceWait {
  readonly subtype: 'service_wait'
  readonly model: string
  readonly error_status: number | null
  readonly error: string
  /** What the service said. */
  readonly message: string
  /** The call that started the subagent whose request it is. */
  readonly parent_tool_use_id: string | null
}

/** One hook at one event of a run. */
export interface SdkHookFigures {
  readonly hook_name: string
  readonly hook_event: string
  readonly count: number
  readonly total_ms: number
  readonly longest_ms: number
  /** How often it decided what: `none` where it let things be. */
  readonly decisions: { readonly [decision: string]: number }
}

/** What the person may want to say next. Inert text of one line. It comes after the result. */
export type SdkPromptSuggestion = Base & {
  readonly type: 'prompt_suggestion'
  readonly suggestion: string
}

/** A stage after the run has ended, and what it cost: that is in no result of the run before it, and in `total_cost_usd` of later ones. Ours. */
export type SdkStageEnded = Base & {
  readonly type: 'system'
  readonly subtype: 'stage_ended'
  readonly stage: string
  readonly run_id: string
  readonly reason: StageReason
  readonly message: string
  readonly details?: JsonObject
  readonly num_turns: number
  readonly cost_usd: number
  /** With what unknown and aborted attempts may have cost. */
  readonly committed_usd: number
  readonly tokens: number
  readonly duration_ms: number
}

/** Figures of one model over the session. */
export interface SdkModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadInputTokens: number
  readonly cacheCreationInputTokens: number
  readonly webSearchRequests: number
  readonly costUSD: number
  readonly contextWindow: number
  readonly maxOutputTokens: number
}

/** A call that was denied. */
export interface SdkPermissionDenial {
  readonly tool_name: string
  readonly tool_use_id: string
  readonly tool_input: unknown
}

/** Why the run ended: the terminal, as the result line carries it. */
export interface SdkStop {
  readonly reason: string
  readonly category: StopCategory
  readonly message: string
  readonly context: JsonObject
  readonly source: string | null
  readonly forced: boolean
}

// Spec R-SDK-1.
/** The result message: exactly one a run, the last of it. */
export type SdkResult<Output = unknown> = Base & {
  readonly type: 'result'
  readonly subtype: ResultSubtype
  readonly duration_ms: number
  readonly duration_api_ms: number
  readonly is_error: boolean
  readonly num_turns: number
  readonly stop_reason: string | null
  readonly total_cost_usd: number
  /** This run's main loop. */
  readonly usage: Usage
  /** The session's sum, with subagents and compaction. */
  readonly modelUsage: { readonly [model: string]: SdkModelUsage }
  readonly permission_denials: readonly SdkPermissionDenial[]
  readonly terminal_reason: string
  readonly stop: SdkStop
  /** When the service takes requests again; of a run that it ended, where it said so. Ours. */
  readonly retryAt?: string
  /** How the goals of the run stand; absent for a run without any. Ours. */
  readonly goal?: GoalResult
  /** Of a success. */
  readonly result?: string
  /** What the output schema made of the answer. */
  readonly structured_output?: Output
  /** Of everything else. */
  readonly errors?: readonly string[]
  /** Of everything else: what the model last said, as in the last answer of a wrap-up, unless it asked for a tool with that. */
  readonly last_answer?: string
}

/** One message in the SDK message format: one JSON line of `--output-format stream-json`. */
export type SdkMessage<Output = unknown> =
  | SdkInit
  | SdkAssistant
  | SdkUser
  | SdkStreamEvent
  | SdkToolProgress
  | SdkSystem
  | SdkStageEnded
  | SdkPromptSuggestion
  | SdkResult<Output>

/** The messages of a run, as they come; the last is its result. */
export type SdkMessages<Output = unknown> = AsyncGenerator<SdkMessage<Output>, void, undefined>
