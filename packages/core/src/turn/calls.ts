import type { ToolUseBlock } from '../messages.ts'
import type { RunState } from '../state.ts'
import type { StopSignal } from '../stop/signal.ts'
import type { SignalOrigin } from '../stop/terminal.ts'
import type { ToolResult } from '../tools/result.ts'
import type { AnyTool } from '../tools/tool.ts'

// A call on its way: indexed in its message, prepared, run. Each phase adds to it.

export interface IndexedCall {
  readonly call: ToolUseBlock
  /** Place in the message. */
  readonly index: number
}

/** Permissions and pre-hooks have had their say. */
export type PreparedCall =
  | {
      readonly kind: 'run'
      readonly call: ToolUseBlock
      readonly index: number
      readonly tool: AnyTool
      readonly input: unknown
      /** May run beside its neighbours. */
      readonly shares: boolean
    }
  /** It has its result already: unknown tool, invalid input, denied, stopped. */
  | { readonly kind: 'answer'; readonly call: ToolUseBlock; readonly index: number; readonly result: ToolResult }

/** A subagent's answer and figures. */
export interface ChildOutcome {
  readonly result: ToolResult
  readonly endedAt: number
  /** Enters what the child spent in the parent's figures. */
  addTo(state: RunState): RunState
}

/** A call and its result, on record. */
export type CallRun = PreparedCall & {
  readonly result: ToolResult
  readonly durationMs: number
}

/** A stop that a tool or one of its hooks raised; it counts once all tools are done. */
export type RaisedStop = {
  readonly index: number
  readonly signal: StopSignal
  readonly origin: SignalOrigin
  readonly hook: string | null
  readonly callId: string
}
