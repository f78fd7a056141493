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

/** What a tool gives back; a string is the plain form. `content` is bounded by the tool: everything that the model sees is. */
export interface ToolOutput {
  /** What the model is shown of the result: a text or blocks. */
  readonly content: string | readonly ContentBlock[]
  /** Whether the call failed. Default: false. */
  readonly isError?: boolean
  /** What a program may want beside the text: `tool_use_result` of the SDK message. Must be JSON. */
  readonly details?: Json
  /**
   * What the tool has to find again in later calls of the conversation, also in another process: recorded with the result (`UserEntry.memos`), and shown
   * to nobody. Must be JSON.
   */
  readonly memo?: Json
  /** Where the tool has put all of its text, of which `content` is the head and the tail: handed to `LargeResults.save`, and never shown. */
  readonly spooled?: string
  // Spec R-BACK-2.
  /** What it has started that goes on beside the run, and what it tells of the end of such work. */
  readonly tasks?: readonly TaskNews[]
  // Spec R-VERI-1.
  /** What the call did to files, where the tool knows it. Recorded with the result, and shown to nobody. */
  readonly fileWork?: FileWork
}

/** What a tool is handed beside its input. */
export interface ToolContext {
  /** Id of the call, unique within the conversation. */
  readonly callId: string
  /** Name of the tool. */
  readonly toolName: string
  /** The kind of subagent that calls; absent or null in the main loop. */
  readonly agentType?: string | null
  /** Aborted when the run is. A tool that does not heed it is left behind after the grace time. */
  readonly signal: AbortSignal
  /** The same for every try at this call, also after a crash. */
  readonly idempotencyKey: string
  /** The run as it was before this turn's tools. */
  readonly state: AgentState
  /** `ToolOutput.memo` of earlier calls of the same message, in call order; those of earlier messages are in `state.transcript`. None when absent. */
  readonly memos?: readonly Json[]
  /** What whoever calls may do: for a tool that asks the rules about something of its own. */
  readonly rights?: CallerRights
  /** Subagents that work in the background of this run; absent or null where there are none. */
  readonly agents?: AgentsInBackground | null
  /** Tells how it goes, for a person; never recorded. May be taken out of the context. */
  readonly progress: (data: Json) => void
  // Spec R-TOOL-19.
  /**
   * Asks a model through the run, as `HookContext.ask` does. Only for a tool that says `asksModel`, and whose call may run again
   * after a crash.
   */
  readonly ask?: AskModel
  /** For a tool that says `waits`, and absent for any other. */
  readonly wait?: CallWait
  /**
   * The rules let the call run confined alone (`PermissionDecision.confined`), also where another process decided that: a tool that cannot confine it
   * does not run it. Absent where a rule or a person lets it run as it is.
   */
  readonly confined?: true
}

// Spec R-WAIT-1.
/** The wait of a call of a tool that says `waits`. */
export interface CallWait {
  /** When the call began, in milliseconds since 1970: after a resume the moment at which the process before began it. */
  readonly sinceMs: number
  /** Milliseconds since then by the wall clock, at least those that this process has waited. */
  readonly waitedMs: number
  /** Milliseconds that it may still take by the time limit of the run: the rest is for the answer. `Infinity` without a limit. */
  readonly leftMs: number
  /**
   * Calls back once, when the wait has to end, whatever it is for: `over`, so many milliseconds since it began have passed; `limit`, the time limit of the
   * run leaves no more; `arrived`, a person has written or wants the run to stop. Calls back at once where that is so already. Gives the way to be called
   * no more. An abort comes by `signal` alone.
   */
  onEnd(longestMs: number, listener: (why: 'over' | 'limit' | 'arrived') => void): () => void
}

/** What `Tool.precheck` is handed beside the input. */
export type PrecheckContext = Pick<
  ToolContext,
  'callId' | 'toolName' | 'agentType' | 'signal' | 'state' | 'memos' | 'rights'
>

/** The mode and the rules that hold for the run or subagent that calls, as in a `PermissionRequest`, and its tools. */
export interface CallerRights {
  /** The permission mode; absent for that of the permissions. */
  readonly mode?: string
  /** Changes of permission rules that a person agreed to, in order. */
  readonly learned?: readonly PermissionUpdate[]
  /** By their names. */
  readonly tools: readonly string[]
}

/** For tools that look at subagents of the background, or stop them. */
export interface AgentsInBackground {
  /** Ids of the subagents. */
  readonly ids: readonly string[]
  /** The subagent of an id; undefined for none. */
  find(id: string): AgentInBackground | undefined
}

/** A subagent of the background, as it is now. */
export interface AgentInBackground {
  /** Id of the subagent, as the model knows it. */
  readonly id: string
  /** What it does, in a few words. */
  readonly description: string
  /** Whether it is still working. */
  readonly isWorking: boolean
  /** What it came to, or its newest words. */
  readonly said: string
  /** Calls back once it has ended. Gives the way to be called no more. */
  onEnd(listener: () => void): () => void
  /** Stops it. The loop tells of its end. */
  stop(): Promise<void>
}

/** Invalid input says what is right: the message goes to the model. */
export type InputCheck<Input> =
  | {
      readonly valid: true
      /** The input, with what the check changed in it. */
      readonly input: Input
    }
  | {
      readonly valid: false
      /** What is wrong and what is right, for the model. */
      readonly message: string
    }

/** The input of a tool that says no more about it: an object with any fields. */
export type ToolInput = { readonly [name: string]: unknown }

/**
 * The tool port. `tool()` makes one whose schema and `Input` cannot disagree; written by hand, it is for you to see that they do not.
 * A list of tools is a list of `AnyTool`.
 */
export interface Tool<Input = ToolInput> {
  /** Unique among the tools of a run. The model calls the tool by it. */
  readonly name: string
  /** What the tool does and when to use it, for the model. */
  readonly description: string
  /** JSON Schema of the input, shown to the model. Checked by the loop before anything else sees the call, as far as `compileSchema` knows it. */
  readonly inputSchema: JsonObject
  /** Changes nothing outside. Neighbouring read-only calls run in parallel, 10 at most. May depend on the (valid) input. */
  readonly readOnly: boolean | ((input: Input) => boolean)
  /**
   * False for a tool whose calls must run one at a time. True by default: neighbouring calls of read-only tools and of agent tools run in parallel, at most
   * 10 at once (`toolConcurrency`). Calls of a tool that writes always run one at a time.
   */
  readonly concurrencySafe?: boolean
  /**
   * What is done about a call of which only the intent is on record when a run is resumed:
   * `rerun` for a tool that may safely run again; `tell` says to the model that the outcome is unknown. Read-only tools rerun unless said otherwise, others tell.
   */
  readonly onUnknownOutcome?: 'rerun' | 'tell'
  /** A call of it that fails has changed nothing, such as an edit of text that is not there. Otherwise one that is not read-only may have changed something. */
  readonly failsUnchanged?: boolean
  // Spec R-PROG-7.
  /** Its calls are to change files, as those of an editor: where they fail turn after turn, a run that looks at repetition reminds the model. False unless said otherwise. */
  readonly editsFiles?: boolean
  /** It may ask a model (`ToolContext.ask`): its calls do not start while the message that makes them still streams. False unless said otherwise. */
  readonly asksModel?: boolean
  /**
   * Its calls wait for something, and are handed `ToolContext.wait`. The moment at which one begins is on record, so that a resume that makes it again
   * waits until the same moment; it does not start while its message still streams. Not together with `asksModel`. False unless said otherwise.
   */
  readonly waits?: boolean
  /**
   * Whether a person is asked before a call runs: always, or by its input. Rules of the permissions decide first: deny rules deny, and an allow rule for this very call
   * (`PermissionDecision.explicit`) lets it run. Without permissions a person is asked: the run ends as `needs_approval`, or waits (`onAsk`, `canUseTool`). What the
   * function throws, and whatever it gives but `false`, asks. Its answer is on record: a resume does not ask it again. Never when absent.
   */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>)
  /**
   * Whether a model is shown the tool; every model is when absent. Called with the run's model, and again when another one is chosen:
   * for a tool that needs something of it, such as `Model.webSearch`. What it throws counts as false.
   */
  offeredTo?(model: Model): boolean
  /**
   * The input with other names and forms replaced by those of the schema, such as `file_path` by `path`. Called before the schema, rules, hooks and
   * `validate` see the call, so that all of them see the same input. It must be pure, and give its own results back unchanged. What it throws counts
   * as no change.
   */
  canonicalInput?(input: JsonObject): JsonObject
  /** A stricter check than the schema; may change the input (defaults). Throwing counts as invalid. */
  validate?(input: unknown): InputCheck<Input>
  /**
   * Why the call cannot succeed as things are now, such as an edit of text that is not in the file; undefined where nothing is known against it. Asked
   * before a person is asked about the call: then nobody is, and the model gets the reason as the result. It changes nothing, and tells nothing that the
   * model could not find out without a question. The work checks again. What it throws counts as undefined.
   */
  precheck?(input: Input, context: PrecheckContext): Promise<string | undefined> | string | undefined
  /**
   * Does the work. What it throws is a result for the model with `is_error`, except `AgentStopException`, which stops the run.
   */
  execute(input: Input, context: ToolContext): Promise<ToolOutput | string> | ToolOutput | string
}

/**
 * A tool whose work is a run of its own: a subagent. Its loop runs under the parent's `StepEngine` and draws on the parent's ledger.
 * `spawn` says what the child is to do; the loop runs it and makes the result from its last answer. Calls in one message run in parallel, unless
 * `concurrencySafe` is false.
 */
export interface AgentTool<Input = ToolInput> extends Omit<Tool<Input>, 'execute' | 'precheck'> {
  /** Models that its children may ask beside those of the run. */
  readonly models?: readonly Model[]
  /**
   * Tools of its children in addition to those of the run. One replaces a tool of the run with the same name, for these children and those that they start.
   * Permissions, hooks and guards of the run apply to them as to its own tools, by their names. A resumed run finds them here by their names.
   */
  readonly tools?: readonly AnyTool[]
  /**
   * What the answer of its children must match. A child is told the schema and is asked again for an answer that does not match, as a run is. The result of
   * the call is the value as JSON.
   */
  readonly output?: OutputSchema
  /** A throw is the result of the call: what cannot be started is no broken run. */
  spawn(input: Input, context: SpawnContext): ChildRun
}

/** The agent that starts another one. */
export interface SpawnContext {
  /** 0 for the main loop. */
  readonly depth: number
  /** Names of the tools that it has: of these the child may be given some. */
  readonly tools: readonly string[]
  /** The mode that was set for it in place of that of the permissions; null for none. */
  readonly permissionMode: string | null
}

/** What a subagent is to do, and with what. */
export interface ChildRun {
  /** The task. */
  readonly prompt: string
  /** The system prompt; that of the parent when absent. */
  readonly system?: string
  /** Names of the tools that the child may use, of its parent and of its agent tool; all when absent. At the depth where it is the last it starts no agents. */
  readonly tools?: readonly string[]
  /** One of the tool's `models` or of those of the run, or its id; the parent's model when absent. */
  readonly model?: string | Model
  /** A mode that the permissions know, for the child and those below it. Whether it may be a looser one than its parent's is for the tool to decide. */
  readonly permissionMode?: string
  /** Rules for the child and those below it, in addition to all that hold for its parent. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
  /** Turns of the child; the parent's own limit when absent. Each limit of a child is within those of its parent. */
  readonly maxTurns?: number
  /** US dollars that the child and those below it may cost. */
  readonly maxBudgetUsd?: number
  /** Tokens of the child and those below it, input and output. */
  readonly maxTotalTokens?: number
  /** Active milliseconds that the child may take. */
  readonly maxDurationMs?: number
  /** Calls of tools that the child and those below it may make. */
  readonly maxToolCalls?: number
  /** What must hold before it may answer; its parent's goals are not its own. Where they are not met its result is an error. */
  readonly until?: readonly Goal[]
  // Spec R-BACK-10.
  /**
   * The call is answered at once, and the agent works beside the run that started it; the model is told of its end.
   * One that a subagent starts is waited for.
   */
  readonly background?: boolean
  /** Name of the kind of agent, for hooks and events. */
  readonly agentType?: string
  /** What it is to do, in a few words, for whoever watches. */
  readonly description?: string
  /** Told before its result, or with the word that it works in the background. */
  readonly note?: string
}

/** A tool whose input only it knows: a tool takes its input and gives none, so `never` stands for them all. */
type Erased<T> = Omit<T, 'validate'> & { validate?(input: unknown): InputCheck<unknown> }

/** Any tool that does its work itself, whatever its input. */
export type AnyLeafTool = Erased<Tool<never>>
/** Any tool whose work is a subagent, whatever its input. */
export type AnyAgentTool = Erased<AgentTool<never>>
/** Any tool, whatever its input: what a list of tools holds. Every `Tool<X>` and `AgentTool<X>` is one. */
export type AnyTool = AnyLeafTool | AnyAgentTool

/** True for a tool whose work is a run of its own. */
export function isAgentTool(tool: AnyTool): tool is AnyAgentTool {
  return 'spawn' in tool
}

/** These tools and those that their subagents have, each once. */
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
