import { isInstance } from '../values/errors.ts'
import type { AskModel } from '../model/questions.ts'
import type { Emit } from '../state/events.ts'
import { disregard, type Eventually } from '../values/eventually.ts'
import { AgentStopException } from '../endings/stop-exception.ts'
import { resultOfOutput, resultOfThrown } from '../tools/output.ts'
import { abortedResult, type ToolResult } from '../tools/tool-result.ts'
import {
  isAgentTool,
  type AgentsInBackground,
  type AnyLeafTool,
  type CallWait,
  type CallerRights,
  type ToolContext,
} from '../tools/tool.ts'
import type { AgentState } from '../hooks/agent-state.ts'
import { jsonOf, mutableCopyOf, type Json } from '../values/json.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunState } from '../state/state.ts'
import { agentStateOf } from '../run/agent-view.ts'
import { requestRights } from './ask-permission.ts'
import type { Run } from '../run/run.ts'
import type { ValidCall } from '../run/call.ts'
import { waitOfCall } from './call-wait.ts'

/** What a call is handed of the step that it is made in. */
export interface CallScope {
  readonly idempotencyKey: string
  readonly emit: Emit
  /** The intent of that step, where it has one. */
  readonly intent?: Json
  readonly ask?: AskModel | undefined
  /** What the tools of earlier calls of the message have to find again. */
  readonly memos?: readonly Json[]
}

// Spec R-HOOK-17a.
/**
 * Finds out, once, why a call cannot succeed as things are now. Undefined for a tool that has no such check, and where a result is not to be on record
 * before hooks have seen it: the reason may quote what they redact.
 */
export function precheckOf(
  run: Run,
  call: ValidCall,
  memos: readonly Json[],
): (() => Promise<string | undefined>) | undefined {
  const { tool } = call
  if (isAgentTool(tool) || tool.precheck === undefined || withholdsResults(run, call.call.name)) return undefined
  const { precheck } = tool
  let found: Promise<string | undefined> | undefined
  const find = async (): Promise<string | undefined> => {
    try {
      const context = new CallContext(run, call, { idempotencyKey: '', emit: run.emit, memos })
      // The input passed this tool's own check. It keeps it: the work is called with it later.
      const why: unknown = await precheck.call(tool, mutableCopyOf(call.taken as Json) as never, context)
      return typeof why === 'string' && why !== '' ? why : undefined
    } catch {
      return undefined
    }
  }
  return () => (found ??= find())
}

/** Whether a hook that redacts the results of a tool has them withheld where it fails. */
export function withholdsResults({ context }: Run, name: string): boolean {
  return context.hooks.for('afterToolUse', name).some(({ hook }) => hook.onError === 'withhold')
}

/** The leaf effect of a call: starts the tool unless the run is aborted, and never rejects. */
export function executeCall(run: Run, call: ValidCall, tool: AnyLeafTool, scope: CallScope): Eventually<ToolResult> {
  const { abort, orphanedTools } = run.ports
  // After an abort no tool starts.
  const cause = abort.causeNow()
  if (cause !== undefined) return abortedResult(cause, 'settled')
  const orphans = call.readOnly ? undefined : orphanedTools.settled()
  const start = (): Eventually<ToolResult> => {
    if (run.ports.isHeard()) scope.emit({ type: 'tool_running', callId: call.call.id, name: call.call.name })
    return runTool(run, tool, call.input, new CallContext(run, call, scope))
  }
  if (orphans === undefined) return start()
  return run.withGrace(
    () => orphans,
    (settled) => (settled.kind === 'left' ? abortedResult(settled.cause, 'settled') : start()),
  )
}

function runTool(run: Run, tool: AnyLeafTool, input: unknown, context: ToolContext): Eventually<ToolResult> {
  const { abort, orphanedTools } = run.ports
  let running: unknown
  // The input passed this tool's own check, so it is what `execute` is written for.
  const work = () => (running = tool.execute(input as never, context))
  return run.withGrace(work, (settled) => {
    switch (settled.kind) {
      case 'value':
        return resultOfOutput(settled.value)
      case 'threw':
        // A tool that throws after an abort counts as interrupted, unless it throws a stop.
        return abort.cause === undefined || isInstance(settled.error, AgentStopException)
          ? resultOfThrown(settled.error)
          : abortedResult(abort.cause, 'settled')
      case 'left':
        if (isInstance(running, Promise)) orphanedTools.add(running)
        return abortedResult(settled.cause, 'still_running')
    }
  })
}

/** The context of a tool. Its state is that before the tools of this turn, also when it is read later. */
class CallContext implements ToolContext {
  readonly callId: string
  readonly toolName: string
  readonly agentType: string | null
  readonly signal: AbortSignal
  readonly idempotencyKey: string
  readonly agents: AgentsInBackground | null
  readonly #context: RunContext
  readonly ask?: AskModel
  readonly memos?: readonly Json[]
  readonly wait?: CallWait
  readonly confined?: true
  readonly #state: RunState
  readonly #emit: Emit

  constructor(run: Run, { call, tool, confined }: ValidCall, { idempotencyKey, emit, intent, ask, memos }: CallScope) {
    this.callId = call.id
    this.toolName = call.name
    this.agentType = run.agentType
    this.signal = run.ports.abort.signal
    this.idempotencyKey = idempotencyKey
    this.#context = run.context
    this.agents = run.agents ?? null
    this.#state = run.state
    this.#emit = emit
    if (confined !== undefined) this.confined = confined
    if (ask !== undefined) this.ask = ask
    if (memos !== undefined) this.memos = memos
    if (!isAgentTool(tool) && tool.waits === true) this.wait = waitOfCall(run, intent)
  }

  get state(): AgentState {
    return agentStateOf(this.#state)
  }

  get rights(): CallerRights {
    const { settings, toolDefinitions } = this.#context
    return { ...requestRights(settings), tools: toolDefinitions.map(({ name }) => name) }
  }

  /** A tool may take it out of the context, so it does not depend on `this`. */
  get progress(): (data: Json) => void {
    return (data) => {
      disregard(data)
      this.#emit({ type: 'tool_update', callId: this.callId, name: this.toolName, data: jsonOf(data) })
    }
  }
}
