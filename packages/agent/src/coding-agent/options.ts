import type { VerificationMode } from '../checks/verification.ts'
import type {
  AnyTool,
  FromJsonSchema,
  Goal,
  JsonObject,
  RunOptions,
  Model,
  OutputSchema,
  StandardSchema,
} from '@halting/core'
import type { StandardOutput } from '@halting/core/adapters'
import type { HttpServer, InProcessServer, StdioServer } from '../mcp/config.ts'
import type { McpOptions } from '../mcp/servers.ts'
import type { PermissionMode } from '@halting/policy'
import type { SettingSource, ToolProfile } from '@halting/policy/settings'
import type { BackgroundOptions } from '../tools/background.ts'
import type { Environment } from '../tools/limits.ts'

/**
 * The schema of answers: from zod, valibot, arktype or another Standard Schema library, a JSON Schema, or an
 * `OutputSchema`.
 */
export type AnswerSchema = StandardSchema | OutputSchema | JsonObject

/** The type of answers that match the schema. */
export type AnswerOf<Schema extends AnswerSchema> = Schema extends StandardSchema
  ? StandardOutput<Schema>
  : Schema extends OutputSchema<infer Answer>
    ? Answer
    : Schema extends JsonObject
      ? FromJsonSchema<Schema>
      : unknown

/** Tool names, for completion in editors. Any text is accepted: names are checked when the session is opened. */
type CodingToolName =
  | 'Read'
  | 'Write'
  | 'Edit'
  | 'Bash'
  | 'Glob'
  | 'Grep'
  | 'TaskOutput'
  | 'TaskStop'
  | 'Wait'
  | 'TaskCreate'
  | 'TaskUpdate'
  | 'TaskList'
  | 'TaskGet'
  | 'TodoWrite'
  | 'NotebookEdit'
  | 'apply_patch'
  | 'WebFetch'
  | 'WebSearch'
  | 'AskUserQuestion'
  | 'EnterPlanMode'
  | 'ExitPlanMode'
  | 'Agent'
  | 'Skill'
  | (string & Record<never, never>)

/** A server as in `.mcp.json`, or a server in this process. Optional fields may be omitted. */
export type GivenServer =
  | (Pick<StdioServer, 'command'> & Partial<StdioServer>)
  | (Pick<HttpServer, 'url'> & Partial<HttpServer>)
  | InProcessServer

type OfTheLoop = Omit<
  RunOptions,
  'model' | 'stopWhen' | 'permissions' | 'steps' | 'output' | 'moreTools' | 'background' | 'until' | 'verification'
>

/**
 * Options of `codingAgent`: the working folder, what differs from the terminal program, and all other options of
 * `streamRun`.
 */
export interface CodingAgentOptions<Schema extends AnswerSchema = AnswerSchema> extends OfTheLoop {
  /** The working folder. */
  readonly cwd: string
  /**
   * A model, or the name of one that the environment gives access to. Default: the model of the environment or the
   * settings.
   */
  readonly model?: Model | string
  /** Tools in addition to the built-in ones. A tool with the name of a built-in tool replaces it. */
  readonly tools?: readonly AnyTool[]
  /** Names of the built-in tools to offer (default: all). */
  readonly codingTools?: readonly CodingToolName[]
  /**
   * Which built-in tools are offered, and with which descriptions: `codex` offers `apply_patch` instead of Edit and
   * Write; `small` offers six tools with short descriptions. Default: the setting, otherwise `default`.
   */
  readonly toolProfile?: ToolProfile
  /** Replaces the system prompt of the coding agent. */
  readonly system?: string
  /** Appended to the system prompt. */
  readonly appendSystem?: string
  /** The form of answers. */
  readonly outputSchema?: Schema

  /**
   * Which settings and instructions apply (default: all). An administrator's settings always apply. Naming `project`
   * trusts the folder for this session.
   */
  readonly settingSources?: readonly SettingSource[]
  /** Settings that precede those of files, in the form of a settings file. */
  readonly settings?: JsonObject
  /**
   * Whether the folder is trusted for this session, overriding everything else. Default: the environment,
   * `settingSources` and the records of `halting trust` decide.
   */
  readonly trust?: boolean
  /** The permission mode (default: that of the settings). */
  readonly permissionMode?: PermissionMode
  /** Permission rules that allow, in addition to those of the settings. */
  readonly allowedTools?: readonly string[]
  /** Permission rules that deny, in addition to those of the settings. */
  readonly disallowedTools?: readonly string[]
  /** Further folders in which the agent may work. */
  readonly additionalDirectories?: readonly string[]
  /**
   * Conditions that must hold before a run is done: commands that exit with 0, and goals such as those of
   * `commandGoal`. Default: those of the settings.
   */
  readonly until?: readonly (string | Goal)[]
  /**
   * Globs, relative to the folder, of files that the agent must not change, in addition to those of the settings. A
   * glob without a match is an error.
   */
  readonly protect?: readonly string[]
  /**
   * What happens when an answer follows at least 3 changed lines without a passing check. `ask`: the model is asked
   * once to verify or explain. `tell` (default): reported in `verified` of the result. `off`: no check.
   */
  readonly verification?: VerificationMode
  /** Runs commands in a sandbox, regardless of the settings. */
  readonly sandbox?: boolean
  /** Continues if standing budgets of the settings are exhausted or cannot be counted. `standing` replaces them. */
  readonly ignoreStandingBudgets?: boolean
  /**
   * What happens to commands that are still running when a run would end. Default: the setting, otherwise the run
   * waits for them.
   */
  readonly background?: NonNullable<BackgroundOptions['atEnd']>
  /** Subagents by name, which precede those of files; the same form as `--agents`. */
  readonly agents?: {
    readonly [name: string]: {
      /** Purpose of the agent. The model selects an agent by this description. */
      readonly description: string
      /** System prompt of the agent. */
      readonly prompt: string
    } & JsonObject
  }
  /** Servers by name, which precede those of the settings. */
  readonly mcpServers?: { readonly [name: string]: GivenServer }
  /** Asks the user for input that a server requests. Without it such requests are declined. */
  readonly elicit?: NonNullable<McpOptions['elicit']>

  /** A UUID for the session (default: a new one). */
  readonly sessionId?: string
  /** Resumes the session with this id, or the newest one of the folder. */
  readonly resume?: string | { readonly newest: true }
  /** False: neither the session nor earlier file contents are stored. */
  readonly persistSession?: boolean
  /** The environment for settings, models and, without API keys of models, commands. Default: that of this process. */
  readonly env?: Environment
  /** Called with each note for the user: ignored settings, missing parts, messages of hooks. */
  readonly onNote?: (note: string) => void
}
