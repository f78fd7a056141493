import type { ToolUseBlock } from '../model/messages.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import type { AskModel } from '../model/questions.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import type { AnyTool } from './tool.ts'

/** A call that wants to run, as the rules see it: its input has passed the checks of its tool. */
export interface PermissionRequest {
  /** The call. */
  readonly call: ToolUseBlock
  /** The tool. */
  readonly tool: AnyTool
  /** The name by which the model called it, where that is an alias (`toolAliases`): no rule is got around by one. */
  readonly written?: string
  /** Whether the call changes nothing outside, as its tool says. */
  readonly readOnly: boolean
  /** The mode that a person set while the run goes on, one of `modes`; the permissions' own when absent. */
  readonly mode?: string
  /** What persons said to earlier questions of this session that is to hold from then on, in order. */
  readonly learned?: readonly PermissionUpdate[]
  /** The subagent that calls, as its `AgentState` names it; absent in the main loop. Of several agents each may use the same ids of calls. */
  readonly agentId?: string
  /**
   * The tool has a person asked about this call (`Tool.needsApproval`). An `allow` counts only with `explicit`; without it a person is asked. Rules that deny
   * since nobody can be asked deny here too.
   */
  readonly needsApproval?: true
  /** A PreToolUse hook's own answer, where there was one (a hook's allow does not skip deny or ask rules). `defer` is for core: only deny rules are asked then. */
  readonly hookDecision?: 'allow' | 'ask' | 'defer'
  /** The run before ended with the question about this call: what a person answered counts. Rules that would deny since nobody can be asked say `ask`. */
  readonly wasAsked?: true
  /**
   * Why the call cannot succeed as things are now (`Tool.precheck`); undefined where nothing is known against it. For rules that have somebody asked
   * themselves: they give `fail` then. Absent where the tool has no such check, while the message still streams, and for a call that was asked about.
   * Never rejects.
   */
  readonly precheck?: () => Promise<string | undefined>
  /** Asks a model through the run, as `HookContext.ask` does. Absent while the message that makes the call still streams (`onlyInTurn`). */
  readonly ask?: AskModel
  /** What the run has used so far, and what its limits leave. A request that no run made has none. */
  readonly figures?: () => HookFigures
  /** Aborts with the run, for rules that take time to decide. Absent while the message that makes the call still streams. */
  readonly signal?: AbortSignal
}

/** What has a person asked: a rule, a hook, the mode, a place outside of the session's folders, a doubt about what the call does, or something else. */
export interface AskCause {
  /** What kind of reason it is. */
  readonly type: 'rule' | 'hook' | 'mode' | 'workingDir' | 'safetyCheck' | 'other'
  /** The path that is not open to the call. */
  readonly blockedPath?: string
}

/**
 * Permission rules as a port. A read-only call may start while the message still streams, where `decide` allows it at once, without a promise.
 */
export interface Permissions {
  /** Names of the modes that may be set while a run goes on (`RunStream.set`); each request then says which. None when absent. */
  readonly modes?: readonly string[]
  /** Whether nothing may be changed in this mode, so that no goal is checked; the permissions' own mode when absent. Never where there is no such method. */
  isPlanning?(mode?: string): boolean
  /** Deny rules alone, looked at before the hooks and again when a hook changed the input. */
  denies(request: PermissionRequest): string | undefined
  /** Ask rules, mode, allow rules. */
  decide(request: PermissionRequest): PermissionDecision | Promise<PermissionDecision>
  /** True where `decide` may ask a model about this call: then it is not asked while the message still streams. Never when absent. */
  onlyInTurn?(request: PermissionRequest): boolean
  /** Changes that would let a call run which `decide` asks about; offered to `canUseTool`. */
  suggest?(request: PermissionRequest): readonly PermissionUpdate[]
  /**
   * What a yes to the call changes, such as the mode that it begins: applied to an answer of `canUseTool` that sets no mode itself. Nothing when absent.
   */
  updatesOnAllow?(request: PermissionRequest): readonly PermissionUpdate[]
  /** What has a person asked about a call; told to `canUseTool`. Nothing is told when absent. */
  cause?(request: PermissionRequest): AskCause | undefined
  /**
   * Keeps what a person said is to hold beyond this session; called once for an answer, before it counts. For the session itself it need do
   * nothing: each later request brings it as `learned`. What it throws denies the call.
   */
  keep?(updates: readonly PermissionUpdate[]): void | Promise<void>
}

/** Everything is allowed: for code that embeds the loop and has chosen the tools itself. */
export const allowAll: Permissions = Object.freeze<Permissions>({
  denies: () => undefined,
  decide: () => ({ behavior: 'allow' }),
})
