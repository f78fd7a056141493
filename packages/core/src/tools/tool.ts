import type { Json, JsonObject } from '../values/json.ts'
import type { ContentBlock } from '../model/messages.ts'
import type { AgentState } from '../hooks/agent-state.ts'
import type { TaskNews } from '../verification/background.ts'
import type { Goal } from '../goals/goal.ts'
import type { FileWork } from '../verification/file-work.ts'
import type { AskModel } from '../model/questions.ts'
import type { Model } from '../model/model.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import type { OutputSchema } from './structured-output.ts'

/** The result of a tool; a string is the short form. The tool must limit the length of `content`, because the model receives all of it. */
export interface ToolOutput {
  /** The content for the model: a text or blocks. */
  readonly content: string | readonly ContentBlock[]
  /** Whether the call failed. Default: false. */
  readonly isError?: boolean
  /** Additional data for a program: `tool_use_result` of the SDK message. Must be JSON. */
  readonly details?: Json
  /**
   * Data that the tool needs in later calls of the conversation, including in another process. Recorded with the result
   * (`UserEntry.memos`) and never shown. Must be JSON.
   */
  readonly memo?: Json
  /** The location where the tool stored its full text, if `content` is only head and tail. Passed to `LargeResults.save`, and never shown. */
  readonly spooled?: string
  // Spec R-BACK-2.
  /** Background tasks that the call started, and reports about the ends of such tasks. */
  readonly tasks?: readonly TaskNews[]
  // Spec R-VERI-1.
  /** Changes of the call to files, if the tool knows them. Recorded with the result and never shown. */
  readonly fileWork?: FileWork
}

/** The context that a tool receives with its input. */
export interface ToolContext {
  /** Id of the call, unique within the conversation. */
  readonly callId: string
  /** Name of the tool. */
  readonly toolName: string
  /** The type of the calling subagent; absent or null in the main loop. */
  readonly agentType?: string | null
  /** Aborted when the run is aborted. A tool that ignores it is left running after the grace time. */
  readonly signal: AbortSignal
  /** A key that is the same for every attempt at this call, even after a crash. */
  readonly idempotencyKey: string
  /** The state of the run before the tools of this turn. */
  readonly state: AgentState
  /** `ToolOutput.memo` of earlier calls of the same message, in call order. Those of earlier messages are in `state.transcript`. None when absent. */
  readonly memos?: readonly Json[]
  /** The rights of the caller, for a tool that applies the permission rules to its own actions. */
  readonly rights?: CallerRights
  /** Background subagents of this run; absent or null if there are none. */
  readonly agents?: AgentsInBackground | null
  /** Reports progress to a person; never recorded. The function may be used without the context object. */
  readonly progress: (data: Json) => void
  // Spec R-TOOL-19.
  /** Asks a model through the run, like `HookContext.ask`. Present only for a tool with `asksModel` whose call may run again after a crash. */
  readonly ask?: AskModel
  /** Present only for a tool with `waits`. */
  readonly wait?: CallWait
  /**
   * Set if the rules allow the call only when it is confined (`PermissionDecision.confined`), even if another process
   * decided that. A tool that cannot confine the call must not run it. Absent if a rule or a person allows the call
   * unconfined.
   */
  readonly confined?: true
}

// Spec R-WAIT-1.
/** The wait of a call of a tool with `waits`. */
export interface CallWait {
  /** When the call began, in milliseconds since 1970. After a resume, this is the time at which the earlier process began the call. */
  readonly sinceMs: number
  /** Milliseconds since then according to the wall clock, and at least as many as this process has waited. */
  readonly waitedMs: number
  /** Milliseconds that the call may still wait within the time limit of the run; the rest is reserved for the answer. `Infinity` without a limit. */
  readonly leftMs: number
  /**
   * Calls back once, when the wait must end. `over`: this many milliseconds have passed since it began. `limit`: the
   * time limit of the run leaves no more. `arrived`: a person sent a message or asked the run to stop. Calls back
   * immediately if that is already the case. Returns a function that unsubscribes. An abort is reported by `signal`
   * only.
   */
  onEnd(longestMs: number, listener: (why: 'over' | 'limit' | 'arrived') => void): () => void
}

/** The context that `Tool.precheck` receives with the input. */
export type PrecheckContext = Pick<
  ToolContext,
  'callId' | 'toolName' | 'agentType' | 'signal' | 'state' | 'memos' | 'rights'
>

/** The mode, rules and tools of the calling run or subagent, as in a `PermissionRequest`. */
export interface CallerRights {
  /** The permission mode; the default mode of the permissions when absent. */
  readonly mode?: string
  /** Changes of permission rules that a person approved, in order. */
  readonly learned?: readonly PermissionUpdate[]
  /** Names of the tools. */
  readonly tools: readonly string[]
}

/** For tools that inspect or stop background subagents. */
export interface AgentsInBackground {
  /** Ids of the subagents. */
  readonly ids: readonly string[]
  /** The subagent with an id; undefined for an unknown id. */
  find(id: string): AgentInBackground | undefined
}

/** A background subagent in its current state. */
export interface AgentInBackground {
  /** Id of the subagent, as the model knows it. */
  readonly id: string
  /** Its task, in a few words. */
  readonly description: string
  /** Whether it is still running. */
  readonly isWorking: boolean
  /** Its result, or its newest output. */
  readonly output: string
  /** Calls back once it has ended. Returns a function that unsubscribes. */
  onEnd(listener: () => void): () => void
  /** Stops the subagent. The loop reports its end. */
  stop(): Promise<void>
}

/** The result of an input check. The message for an invalid input says what is valid, and goes to the model. */
export type InputCheck<Input> =
  | {
      readonly valid: true
      /** The input, possibly changed by the check. */
      readonly input: Input
    }
  | {
      readonly valid: false
      /** What is wrong and what is valid, for the model. */
      readonly message: string
    }

/** The input of a tool without a more specific type: an object with any fields. */
export type ToolInput = { readonly [name: string]: unknown }

/**
 * A tool. `tool()` creates one whose schema and `Input` always match; for a hand-written one, you must ensure that. A
 * list of tools is a list of `AnyTool`.
 */
export interface Tool<Input = ToolInput> {
  /** Unique among the tools of a run. The model calls the tool by this name. */
  readonly name: string
  /** What the tool does and when to use it, for the model. */
  readonly description: string
  /** JSON Schema of the input, sent to the model. The loop checks it before anything else sees the call, as far as `compileSchema` supports it. */
  readonly inputSchema: JsonObject
  /** Whether a call changes nothing outside the run. Adjacent read-only calls run in parallel, at most 10 at once. May depend on the (valid) input. */
  readonly readOnly: boolean | ((input: Input) => boolean)
  /**
   * False for a tool whose calls must run one at a time (default: true). Adjacent calls of read-only tools and of agent
   * tools run in parallel, at most 10 at once (`toolConcurrency`). Calls of a tool that writes always run one at a time.
   */
  readonly concurrencySafe?: boolean
  /**
   * What a resumed run does with a call if the record contains only its intent. `rerun`: runs the call again, for a tool
   * for which that is safe. `tell`: reports to the model that the outcome is unknown. The default is `rerun` for
   * read-only tools and `tell` for others.
   */
  readonly onUnknownOutcome?: 'rerun' | 'tell'
  /**
   * Whether a failed call has certainly changed nothing, such as an edit of text that does not exist. Without it, a
   * failed call that is not read-only may have changed something.
   */
  readonly failsUnchanged?: boolean
  // Spec R-PROG-7.
  /**
   * Whether its calls are meant to change files, like those of an editor (default: false). If they fail in consecutive
   * turns, a guard against repetition reminds the model.
   */
  readonly editsFiles?: boolean
  /** Whether it may ask a model (`ToolContext.ask`). Its calls then start only when their message is complete (default: false). */
  readonly asksModel?: boolean
  /**
   * Whether its calls wait for something (default: false). They receive `ToolContext.wait`. The start of a call is
   * recorded, so that a resume waits until the same time. Calls start only once their message is complete. Cannot be
   * combined with `asksModel`.
   */
  readonly waits?: boolean
  /**
   * Whether a person must approve a call before it runs: always, or depending on its input (default: never). Permission
   * rules decide first: a deny rule denies, and an allow rule for this specific call (`PermissionDecision.explicit`)
   * lets it run. Without permissions a person is asked: the run ends as `needs_approval`, or waits (`onAsk`,
   * `canUseTool`). A function that throws, or returns anything but `false`, requires approval. Its answer is recorded: a
   * resume does not call it again.
   */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>)
  /**
   * Whether a model is offered the tool (default: every model). Called with the run's model, and again when another one
   * is chosen. It is meant for a tool that depends on the model, for example on `Model.webSearch`. If it throws, the
   * tool is not offered.
   */
  offeredTo?(model: Model): boolean
  /**
   * Replaces alternative names and forms in the input with those of the schema, for example `file_path` with `path`.
   * Called before the schema, rules, hooks and `validate` see the call, so all of them see the same input. It must be
   * pure and idempotent. If it throws, the input is unchanged.
   */
  canonicalInput?(input: JsonObject): JsonObject
  /** A stricter check than the schema; it may change the input, for example to add defaults. A throw counts as invalid. */
  validate?(input: unknown): InputCheck<Input>
  /**
   * Returns why the call cannot succeed in the current state, such as an edit of text that is not in the file; undefined
   * if no reason is known. Called before a person is asked about the call. If there is a reason, nobody is asked, and
   * the model gets the reason as the result. It must change nothing, and reveal nothing that the model could not find
   * out without approval. `execute` must check again. A throw counts as undefined.
   */
  precheck?(input: Input, context: PrecheckContext): Promise<string | undefined> | string | undefined
  /** Executes the call. A thrown error becomes a result for the model with `is_error`, except `AgentStopException`, which stops the run. */
  execute(input: Input, context: ToolContext): Promise<ToolOutput | string> | ToolOutput | string
}

/**
 * A tool whose calls are executed by a subagent, which is a separate run. The loop of the subagent uses the parent's
 * `StepEngine` and ledger. `spawn` returns the child run; the loop runs it and uses its last answer as the result. Calls
 * in one message run in parallel, unless `concurrencySafe` is false.
 */
export interface AgentTool<Input = ToolInput> extends Omit<Tool<Input>, 'execute' | 'precheck'> {
  /** Models that its children may use in addition to those of the run. */
  readonly models?: readonly Model[]
  /**
   * Tools of its children in addition to those of the run. They replace tools of the run with the same name, for these
   * children and their descendants. Permissions, hooks and guards of the run apply to them by name, as to its own tools.
   * A resumed run finds the tools in this list by name.
   */
  readonly tools?: readonly AnyTool[]
  /**
   * The schema for the answer of its children. A child gets the schema, and is asked again if its answer does not match,
   * as in any run. The result of the call is the parsed value as JSON.
   */
  readonly output?: OutputSchema
  /** A thrown error becomes the result of the call. It does not break the run. */
  spawn(input: Input, context: SpawnContext): ChildRun
}

/** The agent that starts another one. */
export interface SpawnContext {
  /** Depth of the agent; 0 for the main loop. */
  readonly depth: number
  /** Names of its tools: the child may get any of them. */
  readonly tools: readonly string[]
  /** The permission mode that was set for the agent, in place of the default mode of the permissions; null for none. */
  readonly permissionMode: string | null
}

/** The task and configuration of a subagent. */
export interface ChildRun {
  /** The task. */
  readonly prompt: string
  /** The system prompt. Default: that of the parent. */
  readonly system?: string
  /**
   * Names of the tools that the child may use, from its parent's tools and those of its agent tool. Default: all of
   * them. At the maximum depth it cannot start agents.
   */
  readonly tools?: readonly string[]
  /** One of the tool's `models` or of those of the run, or its id. Default: the parent's model. */
  readonly model?: string | Model
  /** A permission mode for the child and its descendants. The tool decides whether it may be more permissive than its parent's. */
  readonly permissionMode?: string
  /** Permission rules for the child and its descendants, in addition to all rules that apply to its parent. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
  /** Maximum turns of the child. Default: the parent's own limit. Each limit of a child is within those of its parent. */
  readonly maxTurns?: number
  /** Maximum cost of the child and its descendants in US dollars. */
  readonly maxBudgetUsd?: number
  /** Maximum input and output tokens of the child and its descendants. */
  readonly maxTotalTokens?: number
  /** Maximum active time of the child in milliseconds. */
  readonly maxDurationMs?: number
  /** Maximum tool calls of the child and its descendants. */
  readonly maxToolCalls?: number
  /** Goals that must be met before it may answer; the goals of its parent do not apply. If they are not met, its result is an error. */
  readonly until?: readonly Goal[]
  // Spec R-BACK-10.
  /**
   * Whether to return a result for the call at once. The agent then runs in parallel with the run that started it, and
   * its end is reported to the model. Ignored for an agent that a subagent starts: its parent waits for it.
   */
  readonly background?: boolean
  /** Name of the agent type, for hooks and events. */
  readonly agentType?: string
  /** The task in a few words, for displays. */
  readonly description?: string
  /** A note that precedes its result, or the message that it runs in the background. */
  readonly note?: string
}

/** A tool with a hidden input type. The tool only accepts its input and never returns it, so `never` stands for any type. */
type Erased<T> = Omit<T, 'validate'> & { validate?(input: unknown): InputCheck<unknown> }

/** Any tool that executes its calls itself, whatever its input type. */
export type AnyLeafTool = Erased<Tool<never>>
/** Any tool whose calls are executed by a subagent, whatever its input type. */
export type AnyAgentTool = Erased<AgentTool<never>>
/** Any tool, whatever its input type: the element type of a list of tools. Every `Tool<X>` and `AgentTool<X>` is assignable to it. */
export type AnyTool = AnyLeafTool | AnyAgentTool

/** Whether a tool runs a subagent. */
export function isAgentTool(tool: AnyTool): tool is AnyAgentTool {
  return 'spawn' in tool
}

/** These tools and the tools of their subagents, without duplicates. */
export function withToolsOfAgents(tools: readonly AnyTool[]): readonly AnyTool[] {
  const all = new Set<AnyTool>()
  const add = (tool: AnyTool): void => {
    if (all.has(tool)) return
    all.add(tool)
    if (isAgentTool(tool)) for (const inner of tool.tools ?? []) add(inner)
  }
  for (const tool of tools) add(tool)
  return [...all]
}

/** The models that these tools name for their subagents. */
export function modelsOfAgents(tools: readonly AnyTool[]): readonly Model[] {
  return withToolsOfAgents(tools)
    .filter(isAgentTool)
    .flatMap(({ models = [] }) => models)
}
