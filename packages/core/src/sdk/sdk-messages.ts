import type { StageReason } from '../steps/stage-record.ts'
import type { GoalCheck, GoalPlace, GoalResult } from '../verification/goal-record.ts'
import type { Verified } from '../verification/progress.ts'
import type { Json, JsonObject } from '../values/json.ts'
import type { ContentBlock, MessageContent, Usage } from '../model/messages.ts'
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
  /** Working directory of the session. */
  readonly cwd: string
  /** MCP servers of the session. */
  readonly mcp_servers: readonly {
    /** Name of the server. */
    readonly name: string
    /** State of the connection: `connected`, `failed`, `needs-auth`, `pending`. */
    readonly status: string
  }[]
  /** The permission mode. */
  readonly permissionMode: string
  /** Commands that a prompt can begin with, without the slash. */
  readonly slash_commands: readonly string[]
  /** Name of the output style. */
  readonly output_style: string
  /** Names of the skills. */
  readonly skills: readonly string[]
  /** The plugins, each with its name and its path. */
  readonly plugins: readonly JsonObject[]
  /** Plugins that were not loaded, and parts of those that were; absent where there is none. */
  readonly plugin_errors?: readonly JsonObject[]
  /** Names of the subagents. */
  readonly agents?: readonly string[]
  /** Where the API key comes from. */
  readonly apiKeySource: string
  /** Version that hosts compare their features with. */
  readonly claude_code_version: string
  /** Names of optional features that this session supports. */
  readonly capabilities?: readonly string[]
  /** Files of instructions that the model is shown. Ours. */
  readonly instructions?: readonly string[]
  /** Whether the folder is trusted, and what of its settings does not count because of that. Ours. */
  readonly trust?: {
    /** The folder that the trust is about. */
    readonly folder: string
    /** Whether the folder is trusted. */
    readonly trusted: boolean
    /** Why it is, or is not. */
    readonly because: string
    /** Names of the settings that are ignored. */
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
    /** Names of the tools that the model is offered. */
    readonly tools: readonly string[]
    /** Id of the model. */
    readonly model: string
  }

/** A message of the model, or one of ours that tells of a failure. */
export type SdkAssistant = Base & {
  readonly type: 'assistant'
  /** The message, as the Messages API writes it. */
  readonly message: {
    /** Id of the message. */
    readonly id: string
    readonly type: 'message'
    readonly role: 'assistant'
    /** The model that answered. */
    readonly model: string
    /** Blocks of the reply. */
    readonly content: readonly ContentBlock[]
    /** Why the model stopped; null when not known. */
    readonly stop_reason: string | null
    /** The sequence at which it stopped; null for none. */
    readonly stop_sequence: string | null
    /** Tokens of the request. */
    readonly usage: Usage
  }
  /** The tool call that started the subagent; null for the main agent. */
  readonly parent_tool_use_id: string | null
  /** Kind of the failure, in a message that reports one. */
  readonly error?: string
  readonly aborted?: true
}

/** A message to the model: results of tools, or what a hook or the loop said. */
export type SdkUser = Base & {
  readonly type: 'user'
  /** The message, as the Messages API writes it. */
  readonly message: {
    readonly role: 'user'
    /** A text, or blocks. */
    readonly content: MessageContent
  }
  /** The tool call that started the subagent; null for the main agent. */
  readonly parent_tool_use_id: string | null
  readonly isSynthetic?: true
  /** The result of a tool as data, for programs; the model is shown `message`. */
  readonly tool_use_result?: Json
}

/** The service's own event, with `includePartialMessages`. */
export type SdkStreamEvent = Base & {
  readonly type: 'stream_event'
  /** The event of the Messages API's stream. */
  readonly event: JsonObject
  /** The tool call that started the subagent; null for the main agent. */
  readonly parent_tool_use_id: string | null
}

/** A tool that takes long, for a person. */
export type SdkToolProgress = Base & {
  readonly type: 'tool_progress'
  /** Id of the call. */
  readonly tool_use_id: string
  /** Name of the tool. */
  readonly tool_name: string
  /** The tool call that started the subagent; null for the main agent. */
  readonly parent_tool_use_id: string | null
  /** Seconds since the call began. */
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
        /** Figures of the compaction. */
        readonly compact_metadata: {
          /** `manual`: a person asked for it; `auto`: the window was too full. */
          readonly trigger: 'manual' | 'auto'
          /** Tokens of the conversation before. */
          readonly pre_tokens: number
          /** Tokens of the conversation after. */
          readonly post_tokens: number
        }
      }
    | {
        readonly subtype: 'status'
        /** What the run is doing; null when the former status is over. */
        readonly status: 'compacting' | 'requesting' | null
      }
    | {
        readonly subtype: 'api_retry'
        /** Number of the attempt that failed, from 1. */
        readonly attempt: number
        /** How many retries the request may have. */
        readonly max_retries: number
        /** Milliseconds until the next attempt. */
        readonly retry_delay_ms: number
        /** HTTP status; null where there was no answer. */
        readonly error_status: number | null
        /** Kind of the failure. */
        readonly error: string
      }
    | (SdkHook & { readonly subtype: 'hook_started' })
    /** A hook that is a command has written something. */
    | (SdkHookOutput & { readonly subtype: 'hook_progress' })
    | (SdkHookOutput & {
        readonly subtype: 'hook_response'
        /** Of a hook that is a command. */
        readonly exit_code?: number
        /** What came of the hook. */
        readonly outcome: 'success' | 'error' | 'cancelled'
      })
    | {
        readonly subtype: 'permission_denied'
        /** Name of the tool. */
        readonly tool_name: string
        /** Id of the denied call. */
        readonly tool_use_id: string
        /** Why it was denied. */
        readonly message: string
      }
    | {
        readonly subtype: 'informational'
        /** A sentence for a person. */
        readonly message: string
      }
    | {
        readonly subtype: 'task_started'
        /** Id of the background task. */
        readonly task_id: string
        /** The call that started it; absent where no call did. */
        readonly tool_use_id?: string
        /** What the task does, for a person. */
        readonly description: string
      }
    | {
        readonly subtype: 'task_notification'
        /** Id of the background task. */
        readonly task_id: string
        /** The call that started it; absent where no call did. */
        readonly tool_use_id?: string
        /** How it ended: `completed`, `failed` or `stopped`. */
        readonly status: string
        /** A file with all that it wrote; '' where there is none. */
        readonly output_file: string
        /** How it ended, in a sentence. */
        readonly summary: string
      }
    /** One round of checks of the goals of a run. Ours. */
    | {
        readonly subtype: 'goal_check'
        /** When: before the first request, at an answer, after a turn, or at a limit. */
        readonly place: GoalPlace
        /** Whether every check passed and nothing protected changed. */
        readonly met: boolean
        /** Up to the first that failed, with the end of what each printed. */
        readonly checks: readonly GoalCheck[]
        /** Protected files that have changed: while they do, the goal is not met. */
        readonly tampered: readonly string[]
        /** Files that the checks themselves changed. */
        readonly changed_by_checks: readonly string[]
        /** Tests that changed since the goals were set. */
        readonly changed_tests: readonly string[]
        /** How often an answer was sent back before this round, of `max_tries`. */
        readonly tries: number
        /** How often an answer may be sent back. */
        readonly max_tries: number
        /** Checked twice with nothing changed in between, it came to different verdicts. */
        readonly flaky: boolean
        /** Milliseconds that the checks took. */
        readonly duration_ms: number
        /** The call that started the subagent whose goals they are. */
        readonly parent_tool_use_id: string | null
      }
    /** A request waits for its service, or has. Ours. */
    | (SdkServiceWait & {
        readonly state: 'waiting'
        /** When the wait began: ISO 8601 in UTC. */
        readonly since: string
        /** When it ends at the latest: ISO 8601 in UTC. */
        readonly until: string
      })
    | (SdkServiceWait & {
        readonly state: 'ended'
        /** How the wait ended. */
        readonly outcome: ServiceWaitEnd
        /** Milliseconds that it took. */
        readonly waited_ms: number
      })
    /** What the hooks of a run came to. Ours. */
    | {
        readonly subtype: 'hook_summary'
        /** Id of the run. */
        readonly run_id: string
        /** The hooks, each with its figures. */
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
  /** Name of the hook. */
  readonly hook_name: string
  /** The event that it was called at. */
  readonly hook_event: string
  /** How often it was called. */
  readonly count: number
  /** Milliseconds, all calls together. */
  readonly total_ms: number
  /** Milliseconds of the longest call. */
  readonly longest_ms: number
  /** How often it decided what: `none` where it let things be. */
  readonly decisions: { readonly [decision: string]: number }
}

/** What the person may want to say next. Inert text of one line. It comes after the result. */
export type SdkPromptSuggestion = Base & {
  readonly type: 'prompt_suggestion'
  /** The suggested prompt. */
  readonly suggestion: string
}

/** A stage after the run has ended, and what it cost: that is in no result of the run before it, and in `total_cost_usd` of later ones. Ours. */
export type SdkStageEnded = Base & {
  readonly type: 'system'
  readonly subtype: 'stage_ended'
  /** Name of the stage. */
  readonly stage: string
  /** Id of the run that it belongs to. */
  readonly run_id: string
  /** How the stage ended. */
  readonly reason: StageReason
  /** How it ended, in a sentence with figures. */
  readonly message: string
  /** Further figures of the stage; absent for none. */
  readonly details?: JsonObject
  /** Requests that the stage made. */
  readonly num_turns: number
  /** US dollars, settled. */
  readonly cost_usd: number
  /** With what unknown and aborted attempts may have cost. */
  readonly committed_usd: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Milliseconds that it took. */
  readonly duration_ms: number
}

/** Figures of one model over the session. */
export interface SdkModelUsage {
  /** Input tokens that were not cached. */
  readonly inputTokens: number
  /** Output tokens. */
  readonly outputTokens: number
  /** Input tokens read from the prompt cache. */
  readonly cacheReadInputTokens: number
  /** Input tokens written to the prompt cache. */
  readonly cacheCreationInputTokens: number
  /** Searches of the web that the service billed. */
  readonly webSearchRequests: number
  /** US dollars. */
  readonly costUSD: number
  /** Size of the model's window in tokens. */
  readonly contextWindow: number
  /** Most output tokens of one reply. */
  readonly maxOutputTokens: number
}

/** A call that was denied. */
export interface SdkPermissionDenial {
  /** Name of the tool. */
  readonly tool_name: string
  /** Id of the call. */
  readonly tool_use_id: string
  /** Input of the call, as the model wrote it. */
  readonly tool_input: unknown
}

/** Why the run ended: the terminal, as the result line carries it. */
export interface SdkStop {
  /** The ending, from the closed set. */
  readonly reason: string
  /** Category of the signal. */
  readonly category: StopCategory
  /** For a person, with figures. */
  readonly message: string
  /** Limits and counters, for diagnosis. */
  readonly context: JsonObject
  /** Name of the guard, hook or tool that stopped the run; null when not known. */
  readonly source: string | null
  /** Whether something other than an answer of the model ended the run: every category but `completed` and `finish_reason`. */
  readonly forced: boolean
}

// Spec R-SDK-1.
/** The result message: exactly one a run, the last of it. */
export type SdkResult<Output = unknown> = Base & {
  readonly type: 'result'
  /** How the run ended, in the words of the SDK. */
  readonly subtype: ResultSubtype
  /** Active milliseconds. */
  readonly duration_ms: number
  /** Milliseconds that requests took. */
  readonly duration_api_ms: number
  /** Whether the run failed. */
  readonly is_error: boolean
  /** Turns of the run. */
  readonly num_turns: number
  /** Why the model stopped in its last reply; null where there is none. */
  readonly stop_reason: string | null
  /** US dollars of the session. */
  readonly total_cost_usd: number
  /** This run's main loop. */
  readonly usage: Usage
  /** The session's sum, with subagents and compaction. */
  readonly modelUsage: { readonly [model: string]: SdkModelUsage }
  /** Calls that were denied in the run. */
  readonly permission_denials: readonly SdkPermissionDenial[]
  /** The ending, under the name that hosts know. */
  readonly terminal_reason: string
  /** Why the run ended. */
  readonly stop: SdkStop
  /** When the service takes requests again; of a run that it ended, where it said so. Ours. */
  readonly retryAt?: string
  /** How the goals of the run stand; absent for a run without any. Ours. */
  readonly goal?: GoalResult
  /** Whether a check passed after the last change of the run; absent where nobody looks. Ours. */
  readonly verified?: Verified
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
