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

/** What an answer must fit: a schema of zod, valibot, arktype or any other Standard Schema, a JSON Schema, or what was made of one. */
export type AnswerSchema = StandardSchema | OutputSchema | JsonObject

/** The type of the answers that fit. */
export type AnswerOf<Schema extends AnswerSchema> = Schema extends StandardSchema
  ? StandardOutput<Schema>
  : Schema extends OutputSchema<infer Answer>
    ? Answer
    : Schema extends JsonObject
      ? FromJsonSchema<Schema>
      : unknown

/** For an editor to offer. Any text may be given: which tools there are is looked at when the session is opened. */
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

/** A server as `.mcp.json` has it, or one in this process. What is not needed may be left out. */
export type GivenServer =
  | (Pick<StdioServer, 'command'> & Partial<StdioServer>)
  | (Pick<HttpServer, 'url'> & Partial<HttpServer>)
  | InProcessServer

type OfTheLoop = Omit<
  RunOptions,
  'model' | 'stopWhen' | 'permissions' | 'steps' | 'output' | 'moreTools' | 'background' | 'until' | 'verification'
>

/** What `codingAgent` is given: where it works, and what differs from the program; and every option of `streamRun` that is no part of that. */
export interface CodingAgentOptions<Schema extends AnswerSchema = AnswerSchema> extends OfTheLoop {
  /** The folder that it works in. */
  readonly cwd: string
  /** A model, or the name of one that is reached as the environment says; that of the environment and the settings when absent. */
  readonly model?: Model | string
  /** Tools beside those of the coding agent. One of the same name takes its place. */
  readonly tools?: readonly AnyTool[]
  /** Names of the coding agent's own tools that it has; all when absent. */
  readonly codingTools?: readonly CodingToolName[]
  /**
   * Which of its tools are offered, and in which words: `codex` offers `apply_patch` in place of Edit and Write, `small` six tools in short texts. As the
   * settings say when absent, else `default`.
   */
  readonly toolProfile?: ToolProfile
  /** In place of the system prompt of the coding agent. */
  readonly system?: string
  /** Behind the system prompt. */
  readonly appendSystem?: string
  /** What answers must fit. */
  readonly outputSchema?: Schema

  /** Whose settings and instructions count; all when absent, an administrator's in any case. To name `project` trusts the folder for this session. */
  readonly settingSources?: readonly SettingSource[]
  /** Settings that count before those of files: as a settings file has them. */
  readonly settings?: JsonObject
  /** Whether the folder is trusted for this session, whatever else says; the environment, `settingSources` and the records of `halting trust` decide when absent. */
  readonly trust?: boolean
  /** The permission mode; that of the settings when absent. */
  readonly permissionMode?: PermissionMode
  /** Permission rules that allow, in addition to those of the settings. */
  readonly allowedTools?: readonly string[]
  /** Permission rules that deny, in addition to those of the settings. */
  readonly disallowedTools?: readonly string[]
  /** Further folders that the agent may work in. */
  readonly additionalDirectories?: readonly string[]
  /** What must hold before a run is done: commands that exit with 0, and goals such as `commandGoal` makes; those of the settings when absent. */
  readonly until?: readonly (string | Goal)[]
  /** Globs, relative to the folder, of files that the agent may not change, beside those of the settings. One that fits nothing is an error. */
  readonly protect?: readonly string[]
  /**
   * What follows where an answer is given after at least 3 changed lines that no passing check followed. `ask`: the model is asked once to verify or to say
   * why not. `tell` (default): `verified` of the result says so. `off`: nobody looks.
   */
  readonly verification?: VerificationMode
  /** Holds the commands in a sandbox, whatever the settings say. */
  readonly sandbox?: boolean
  /** Goes on where standing budgets of the settings have too little left, or cannot be counted. `standing` takes their place. */
  readonly ignoreStandingBudgets?: boolean
  /** What becomes of commands that still run when a run would end; as the settings say when absent, and else they are waited for. */
  readonly background?: NonNullable<BackgroundOptions['atEnd']>
  /** Subagents by name, before those of files, as `--agents` takes them. */
  readonly agents?: {
    readonly [name: string]: {
      /** What it is for: the model chooses by it. */
      readonly description: string
      /** Its system prompt. */
      readonly prompt: string
    } & JsonObject
  }
  /** Servers by name, before those of the settings. */
  readonly mcpServers?: { readonly [name: string]: GivenServer }
  /** Asks a person what a server wants to know; without it every such question is declined. */
  readonly elicit?: NonNullable<McpOptions['elicit']>

  /** A UUID for the session; one is made when absent. */
  readonly sessionId?: string
  /** The session of this id goes on, or the newest of the folder. */
  readonly resume?: string | { readonly newest: true }
  /** False: nothing of the session is kept, and files are not kept before they are changed. */
  readonly persistSession?: boolean
  /** The environment: of the settings, of models, and, without the keys of models, of commands. That of this process when absent. */
  readonly env?: Environment
  /** Told what a person should know, as it comes: what does not count, what is not there, what a hook says. */
  readonly onNote?: (note: string) => void
}
