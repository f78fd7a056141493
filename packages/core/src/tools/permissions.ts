import type { ToolUseBlock } from '../model/messages.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import type { AskModel } from '../model/questions.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import type { AnyTool } from './tool.ts'

/** A call that needs a permission decision. Its input has passed the checks of its tool. */
export interface PermissionRequest {
  /** The call. */
  readonly call: ToolUseBlock
  /** The tool. */
  readonly tool: AnyTool
  /** The alias by which the model called it (`toolAliases`), so that an alias cannot bypass a rule. */
  readonly written?: string
  /** Whether the call changes nothing outside, according to its tool. */
  readonly readOnly: boolean
  /** The mode that a person set during the run, one of `modes`; the default mode of the permissions when absent. */
  readonly mode?: string
  /** Permission changes from earlier answers in this session, in order. */
  readonly learned?: readonly PermissionUpdate[]
  /** The id of the calling subagent, as in its `AgentState`; absent in the main loop. Several agents may use the same call ids. */
  readonly agentId?: string
  /**
   * Set if the tool requires approval of this call (`Tool.needsApproval`). An `allow` counts only with `explicit`;
   * otherwise a person is asked. Rules that deny because nobody can be asked deny here too.
   */
  readonly needsApproval?: true
  /**
   * The decision of a PreToolUse hook, if any (a hook's allow does not skip deny or ask rules). `defer` is handled by
   * core: then only deny rules are called.
   */
  readonly hookDecision?: 'allow' | 'ask' | 'defer'
  /**
   * Set if the previous run ended with the permission request for this call: a person's answer applies. Rules that would
   * deny because nobody can be asked return `ask`.
   */
  readonly wasAsked?: true
  /**
   * Why the call cannot succeed in the current state (`Tool.precheck`); undefined if no reason is known. For rules that
   * ask a person themselves: they return `fail` then. Absent if the tool has no such check, while the message still
   * streams, and for a call that was asked about. Never rejects.
   */
  readonly precheck?: () => Promise<string | undefined>
  /** Asks a model through the run, like `HookContext.ask`. Absent while the message with the call still streams (`onlyInTurn`). */
  readonly ask?: AskModel
  /** What the run has used so far, and what its limits leave. Absent for a request outside a run. */
  readonly figures?: () => HookFigures
  /** Aborted with the run, for rules that take time to decide. Absent while the message with the call still streams. */
  readonly signal?: AbortSignal
}

/** Why a person is asked: a rule, a hook, the mode, a path outside the session's folders, an unclear effect of the call, or another reason. */
export interface AskCause {
  /** The kind of reason. */
  readonly type: 'rule' | 'hook' | 'mode' | 'workingDir' | 'safetyCheck' | 'other'
  /** The path that the call may not access. */
  readonly blockedPath?: string
}

/** The permission rules. A read-only call may start while its message still streams, if `decide` allows it synchronously. */
export interface Permissions {
  /** Names of the modes that can be set during a run (`RunStream.set`); each request then names its mode. None when absent. */
  readonly modes?: readonly string[]
  /** Whether nothing may be changed in this mode, so that no goal is checked. Without `mode`: the permissions' own mode. Never when absent. */
  isPlanning?(mode?: string): boolean
  /** Applies deny rules only, before the hooks and again if a hook changed the input. */
  denies(request: PermissionRequest): string | undefined
  /** Applies ask rules, mode and allow rules. */
  decide(request: PermissionRequest): PermissionDecision | Promise<PermissionDecision>
  /** Whether `decide` may ask a model about this call: then it is not called while the message still streams. Never when absent. */
  onlyInTurn?(request: PermissionRequest): boolean
  /** Changes that would allow a call which `decide` asks about; offered to `canUseTool`. */
  suggest?(request: PermissionRequest): readonly PermissionUpdate[]
  /**
   * Changes implied by allowing the call, such as a mode that it begins. Applied to an answer of `canUseTool` that sets
   * no mode itself. None when absent.
   */
  updatesOnAllow?(request: PermissionRequest): readonly PermissionUpdate[]
  /** Why a person is asked about a call; passed to `canUseTool`. No reason is passed when absent. */
  cause?(request: PermissionRequest): AskCause | undefined
  /**
   * Stores changes that apply beyond this session. Called once per answer, before the answer takes effect. For the
   * session itself it need not do anything: later requests contain the changes as `learned`. If it throws, the call is
   * denied.
   */
  keep?(updates: readonly PermissionUpdate[]): void | Promise<void>
}

/** Allows everything: for code that embeds the loop and has chosen the tools itself. */
export const allowAll: Permissions = Object.freeze<Permissions>({
  denies: () => undefined,
  decide: () => ({ behavior: 'allow' }),
})
