import type { StageReason } from '../steps/stage-record.ts'
import type { GoalCheck, GoalPlace, GoalResult } from '../verification/goal-record.ts'
import type { Verified } from '../verification/progress.ts'
import type { Json, JsonObject } from '../values/json.ts'
import type { ContentBlock, MessageContent, Usage } from '../model/messages.ts'
import type { ServiceWaitEnd } from '../model/service-waits.ts'
import type { ResultSubtype } from '../endings/ending.ts'
import type { StopCategory } from '../endings/reason.ts'

// The SDK message format (spec R-SDK-11): its names and structures are those that hosts of coding agents already read.

interface Base {
  readonly uuid: string
  readonly session_id: string
}

/** Fields of `system/init` other than tools and model. */
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
  /** Plugins that were not loaded, and failed parts of loaded plugins; absent if there are none. */
  readonly plugin_errors?: readonly JsonObject[]
  /** Names of the subagents. */
  readonly agents?: readonly string[]
  /** Where the API key comes from. */
  readonly apiKeySource: string
  /** Version that hosts compare their features with. */
  readonly claude_code_version: string
  /** Names of optional features that this session supports. */
  readonly capabilities?: readonly string[]
  /** Files of instructions that the model receives. An extension of the format. */
  readonly instructions?: readonly string[]
  /** Whether the folder is trusted, and which settings are ignored if it is not. An extension of the format. */
  readonly trust?: {
    /** The folder. */
    readonly folder: string
    /** Whether the folder is trusted. */
    readonly trusted: boolean
    /** Why it is trusted, or is not. */
    readonly because: string
    /** Names of the settings that are ignored. */
    readonly ignored: readonly string[]
    /** How to enable the ignored settings. */
    readonly todo: string
  }
}

/** The first message of a run. */
export type SdkInit = Base &
  SdkInitInfo & {
    readonly type: 'system'
    readonly subtype: 'init'
    /** Names of the tools offered to the model. */
    readonly tools: readonly string[]
    /** Id of the model. */
    readonly model: string
  }

/** A message of the model, or one of the loop that reports a failure. */
export type SdkAssistant = Base & {
  readonly type: 'assistant'
  /** The message in the format of the Messages API. */
  readonly message: {
    /** Id of the message. */
    readonly id: string
    readonly type: 'message'
    readonly role: 'assistant'
    /** The model that answered. */
    readonly model: string
    /** Blocks of the reply. */
    readonly content: readonly ContentBlock[]
    /** Why the model stopped; null if unknown. */
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

/** A message to the model: tool results, or a message of a hook or the loop. */
export type SdkUser = Base & {
  readonly type: 'user'
  /** The message in the format of the Messages API. */
  readonly message: {
    readonly role: 'user'
    /** A text, or blocks. */
    readonly content: MessageContent
  }
  /** The tool call that started the subagent; null for the main agent. */
  readonly parent_tool_use_id: string | null
  readonly isSynthetic?: true
  /** The tool result as data, for programs; the model receives `message`. */
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

/** Progress of a long-running tool, for a person. */
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
  /** What it waits for, in a few words. Sent once, at the start of the wait. */
  readonly waits_for?: string
  /** The latest end of the wait, in milliseconds since 1970. */
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

/** Status of the run: requests, retries, compactions, hooks. */
export type SdkSystem = Base & { readonly type: 'system' } & (
    | {
        readonly subtype: 'compact_boundary'
        /** Figures of the compaction. */
        readonly compact_metadata: {
          /** `manual`: a person requested it. `auto`: the window was too full. */
          readonly trigger: 'manual' | 'auto'
          /** Tokens of the conversation before. */
          readonly pre_tokens: number
          /** Tokens of the conversation after. */
          readonly post_tokens: number
        }
      }
    | {
        readonly subtype: 'status'
        /** What the run is doing; null when the previous status is over. */
        readonly status: 'compacting' | 'requesting' | null
      }
    | {
        readonly subtype: 'api_retry'
        /** Number of the failed attempt, from 1. */
        readonly attempt: number
        /** Maximum number of retries of the request. */
        readonly max_retries: number
        /** Milliseconds until the next attempt. */
        readonly retry_delay_ms: number
        /** HTTP status; null without a response. */
        readonly error_status: number | null
        /** Kind of the failure. */
        readonly error: string
      }
    | (SdkHook & { readonly subtype: 'hook_started' })
    /** Output of a hook that is a command. */
    | (SdkHookOutput & { readonly subtype: 'hook_progress' })
    | (SdkHookOutput & {
        readonly subtype: 'hook_response'
        /** Exit code of a hook that is a command. */
        readonly exit_code?: number
        /** The outcome of the hook. */
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
        /** The call that started it; absent if no call did. */
        readonly tool_use_id?: string
        /** What the task does, for a person. */
        readonly description: string
      }
    | {
        readonly subtype: 'task_notification'
        /** Id of the background task. */
        readonly task_id: string
        /** The call that started it; absent if no call did. */
        readonly tool_use_id?: string
        /** How it ended: `completed`, `failed` or `stopped`. */
        readonly status: string
        /** A file with its whole output; '' without a file. */
        readonly output_file: string
        /** How it ended, in a sentence. */
        readonly summary: string
      }
    /** One round of checks of a run's goals. An extension of the format. */
    | {
        readonly subtype: 'goal_check'
        /** When the checks ran: before the first request, at an answer, after a turn, or at a limit. */
        readonly place: GoalPlace
        /** Whether every check passed and no protected file changed. */
        readonly met: boolean
        /** Checks up to the first failed one, with the end of their output. */
        readonly checks: readonly GoalCheck[]
        /** Protected files that have changed. Until they are restored, the goal is not met. */
        readonly tampered: readonly string[]
        /** Files that the checks themselves changed. */
        readonly changed_by_checks: readonly string[]
        /** Tests that changed since the goals were set. */
        readonly changed_tests: readonly string[]
        /** How often an answer was sent back before this round, at most `max_tries`. */
        readonly tries: number
        /** Maximum number of times that an answer is sent back. */
        readonly max_tries: number
        /** Whether two checks gave different verdicts although nothing had changed between them. */
        readonly flaky: boolean
        /** Duration of the checks in milliseconds. */
        readonly duration_ms: number
        /** The call that started the subagent, if the goals are those of a subagent. */
        readonly parent_tool_use_id: string | null
      }
    /** A request waits for its service, or has stopped waiting. An extension of the format. */
    | (SdkServiceWait & {
        readonly state: 'waiting'
        /** Start of the wait: ISO 8601 in UTC. */
        readonly since: string
        /** Latest end of the wait: ISO 8601 in UTC. */
        readonly until: string
      })
    | (SdkServiceWait & {
        readonly state: 'ended'
        /** How the wait ended. */
        readonly outcome: ServiceWaitEnd
        /** Duration of the wait in milliseconds. */
        readonly waited_ms: number
      })
    /** Figures of a run's hooks. An extension of the format. */
    | {
        readonly subtype: 'hook_summary'
        /** Id of the run. */
        readonly run_id: string
        /** The hooks, each with its figures. */
        readonly hooks: readonly SdkHookFigures[]
      }
  )

/** A request that waits for its service. Times are ISO texts. */
interface SdkServiceWait {
  readonly subtype: 'service_wait'
  readonly model: string
  readonly error_status: number | null
  readonly error: string
  /** The message of the service. */
  readonly message: string
  /** The call that started the subagent, if the request is that of a subagent. */
  readonly parent_tool_use_id: string | null
}

/** One hook at one event of a run. */
export interface SdkHookFigures {
  /** Name of the hook. */
  readonly hook_name: string
  /** The event at which it was called. */
  readonly hook_event: string
  /** How often it was called. */
  readonly count: number
  /** Duration of all calls together in milliseconds. */
  readonly total_ms: number
  /** Duration of the longest call in milliseconds. */
  readonly longest_ms: number
  /** Number of each decision; `none` if it changed nothing. */
  readonly decisions: { readonly [decision: string]: number }
}

/** A suggestion for the person's next prompt, as sanitized text of one line. It is emitted after the result. */
export type SdkPromptSuggestion = Base & {
  readonly type: 'prompt_suggestion'
  /** The suggested prompt. */
  readonly suggestion: string
}

/** A stage after the run has ended. Its cost is not in the run's own result, but in `total_cost_usd` of later results. An extension of the format. */
export type SdkStageEnded = Base & {
  readonly type: 'system'
  readonly subtype: 'stage_ended'
  /** Name of the stage. */
  readonly stage: string
  /** Id of the run before the stage. */
  readonly run_id: string
  /** How the stage ended. */
  readonly reason: StageReason
  /** How it ended, in a sentence with figures. */
  readonly message: string
  /** Further figures of the stage; absent for none. */
  readonly details?: JsonObject
  /** Requests that the stage made. */
  readonly num_turns: number
  /** US dollars charged. */
  readonly cost_usd: number
  /** US dollars including what unknown and aborted attempts may have cost. */
  readonly committed_usd: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Duration in milliseconds. */
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
  /** Web searches that the service billed. */
  readonly webSearchRequests: number
  /** US dollars. */
  readonly costUSD: number
  /** Size of the model's window in tokens. */
  readonly contextWindow: number
  /** Maximum output tokens of one reply. */
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

/** Why the run ended: the run result, as in the result line. */
export interface SdkStop {
  /** The ending, from the closed set. */
  readonly reason: string
  /** Category of the signal. */
  readonly category: StopCategory
  /** A message for a person, with figures. */
  readonly message: string
  /** Limits and counters, for diagnosis. */
  readonly context: JsonObject
  /** Name of the guard, hook or tool that stopped the run; null if unknown. */
  readonly source: string | null
  /** Whether something other than an answer of the model ended the run: every category except `completed` and `finish_reason`. */
  readonly forced: boolean
}

// Spec R-SDK-1.
/** The result message: exactly one for each run, its last message. */
export type SdkResult<Output = unknown> = Base & {
  readonly type: 'result'
  /** How the run ended, in the terms of the SDK. */
  readonly subtype: ResultSubtype
  /** Active milliseconds. */
  readonly duration_ms: number
  /** Duration of requests in milliseconds. */
  readonly duration_api_ms: number
  /** Whether the run failed. */
  readonly is_error: boolean
  /** Turns of the run. */
  readonly num_turns: number
  /** Why the model stopped in its last reply; null without a reply. */
  readonly stop_reason: string | null
  /** US dollars of the session. */
  readonly total_cost_usd: number
  /** Tokens of this run's main loop. */
  readonly usage: Usage
  /** Figures of the session by model, including subagents and compaction. */
  readonly modelUsage: { readonly [model: string]: SdkModelUsage }
  /** Calls that were denied in the run. */
  readonly permission_denials: readonly SdkPermissionDenial[]
  /** The ending, under the name that hosts know. */
  readonly terminal_reason: string
  /** Why the run ended. */
  readonly stop: SdkStop
  /** When the service accepts requests again, if it ended the run and reported that time. An extension of the format. */
  readonly retryAt?: string
  /** Whether the run met its goals; absent for a run without goals. An extension of the format. */
  readonly goal?: GoalResult
  /** Whether a check passed after the last change of the run; absent if this was not tracked. An extension of the format. */
  readonly verified?: Verified
  /** The answer, for a success. */
  readonly result?: string
  /** The answer parsed by the output schema. */
  readonly structured_output?: Output
  /** The error texts, for any other ending. */
  readonly errors?: readonly string[]
  /** For any other ending: the model's last text, such as the last answer of a wrap-up, unless it called a tool with it. */
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

/** The messages of a run as they arrive; the last is its result. */
export type SdkMessages<Output = unknown> = AsyncGenerator<SdkMessage<Output>, void, undefined>
