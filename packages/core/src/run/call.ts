import type { ToolUseBlock } from '../model/messages.ts'
import type { RunProgress } from '../state/state.ts'
import type { StepResult } from '../steps/steps.ts'
import type { ToolResult } from '../tools/tool-result.ts'
import type { AnyTool } from '../tools/tool.ts'

// The states of a tool call: inspected, prepared, run.

/** A call whose input was checked. It is checked once, and again only when a hook or a rule changes the input. */
export type InspectedCall = ValidCall | InvalidCall

export interface ValidCall {
  readonly kind: 'valid'
  /** With the name of its tool, and its input in the form that the schema wants: what rules and hooks judge. */
  readonly call: ToolUseBlock
  /** Place in the message. */
  readonly index: number
  /** The name that the model wrote, where an alias led from it to the tool. */
  readonly written: string
  readonly tool: AnyTool
  /** The input as the tool's own check left it, as frozen JSON: what hooks are shown after the call. */
  readonly taken: unknown
  /** A copy of the tool's own, checked by it: what the tool is called with. */
  readonly input: unknown
  readonly readOnly: boolean
  /** May run beside its neighbours. */
  readonly parallelSafe: boolean
  /** It was allowed to run confined alone; set where that was decided. */
  readonly confined?: true
  /** The decision of the permission rules, or a promise of it, where they were asked while the message streamed. */
  readonly said: unknown
  /** Set when it started while its message still streamed. */
  readonly started: Promise<ToolResult> | undefined
}

/** An unknown tool, or an input that its tool does not take. */
interface InvalidCall {
  readonly kind: 'invalid'
  readonly call: ToolUseBlock
  readonly index: number
  /** For the model: what is right. */
  readonly message: string
}

/** A call after permissions and pre-hooks. */
export type PreparedCall =
  | { readonly kind: 'run'; readonly inspected: ValidCall }
  /** It is on record, and in the resumed program its tool is gone or refuses this input. */
  | { readonly kind: 'recorded'; readonly call: ToolUseBlock; readonly index: number }
  /** It has its result without running: unknown tool, invalid input, denied, stopped. */
  | { readonly kind: 'answer'; readonly call: ToolUseBlock; readonly index: number; readonly result: ToolResult }

/** A call and its result. The result is recorded, and not yet entered in the run. */
export interface CallRun extends Pick<StepResult<ToolResult>, 'at' | 'durationMs'> {
  readonly call: PreparedCall
  readonly result: ToolResult
  /** Set for a subagent. */
  readonly agent?: AgentOutcome
  /** Lines that the run had changed when its subagent began. */
  readonly changedAtStart?: number
}

/** A subagent's answer and figures. */
export interface AgentOutcome {
  readonly result: ToolResult
  /** The moment of its end on the run's own clock: agents side by side take the time of the longest. */
  readonly endedAt: number
  /** What it spent; null when it never began. */
  readonly spent: RunProgress | null
}
