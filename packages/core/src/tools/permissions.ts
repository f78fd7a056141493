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
  /** Whether the call changes nothing outside the run, according to its tool. */
  readonly readOnly: boolean
  /** The mode that a person set during the run, one of `modes`; the default mode of the permissions when absent. */
  readonly mode?: string
  /** Permission changes from earlier answers in this session, in order. */
  readonly learned?: readonly PermissionUpdate[]
  /** The id of the calling subagent, as in its `AgentState`; absent in the main loop. Several agents may use the same call ids. */
  readonly agentId?: string
  /**
   * Set if the tool requires approval of this call (`Tool.needsApproval`). An `allow` counts only with `explicit`;
   * otherwise a person is asked. Rules that deny a call because nobody can be asked also deny this call.
   */
  readonly needsApproval?: true
  /**
   * The decision of a PreToolUse hook, if any. The allow of a hook does not skip deny or ask rules. Core handles `defer`
   * itself: only deny rules are called then.
   */
  readonly hookDecision?: 'allow' | 'ask' | 'defer'
  /**
   * Set if the previous run ended with the permission request for this call, so that a person can answer it. Rules that
   * would deny because nobody can be asked must return `ask` then.
   */
  readonly wasAsked?: true
  /**
   * Returns why the call cannot succeed in the current state (`Tool.precheck`); undefined if no reason is known. It is
   * for rules that ask a person themselves: if there is a reason, they return `fail`. Absent if the tool has no such
   * check, while the message still streams, and for a call that a person was already asked about. Never rejects.
   */
  readonly precheck?: () => Promise<string | undefined>
  /** Asks a model through the run, like `HookContext.ask`. Absent while the message that contains the call still streams (`onlyInTurn`). */
  readonly ask?: AskModel
  /** Returns what the run has used so far, and what its limits leave. Absent for a request outside a run. */
  readonly figures?: () => HookFigures
  /** Aborted with the run, for rules that take time to decide. Absent while the message that contains the call still streams. */
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
  /** Names of the modes that can be set during a run (`RunStream.set`). Each request then contains the name of its mode. Default: none. */
  readonly modes?: readonly string[]
  /** Whether the mode only plans and allows no changes, so that no goal is checked. Without `mode`: for the permissions' own mode. Default: never. */
  isPlanning?(mode?: string): boolean
  /** Applies deny rules only, before the hooks and again if a hook changed the input. */
  denies(request: PermissionRequest): string | undefined
  /** Applies ask rules, mode and allow rules. */
  decide(request: PermissionRequest): PermissionDecision | Promise<PermissionDecision>
  /** Whether `decide` may ask a model about this call. If so, it is not called while the message still streams. Default: never. */
  onlyInTurn?(request: PermissionRequest): boolean
  /** Returns permission changes that would allow a call which `decide` asks about. `canUseTool` receives them as suggestions. */
  suggest?(request: PermissionRequest): readonly PermissionUpdate[]
  /**
   * Permission changes that allowing the call implies, such as a mode that it begins. They are applied to an answer of
   * `canUseTool` that sets no mode itself. Default: none.
   */
  updatesOnAllow?(request: PermissionRequest): readonly PermissionUpdate[]
  /** Why a person is asked about a call. `canUseTool` receives this cause. Default: no cause is passed. */
  cause?(request: PermissionRequest): AskCause | undefined
  /**
   * Stores changes that apply beyond this session. Called once per answer, before the answer takes effect. It need not
   * store changes for the session itself, since later requests contain those as `learned`. If it throws, the call is
   * denied.
   */
  keep?(updates: readonly PermissionUpdate[]): void | Promise<void>
}

/** Allows every call. Use it in programs that embed the loop and have chosen the tools themselves. */
export const allowAll: Permissions = Object.freeze<Permissions>({
  denies: () => undefined,
  decide: () => ({ behavior: 'allow' }),
})
