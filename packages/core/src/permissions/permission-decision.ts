import { plainTextOf } from '../model/content.ts'
import { messageOf } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { jsonOf } from '../values/json.ts'
import { permissionUpdatesOf, type PermissionUpdate } from './permission-update.ts'
import { invalidAnswer, invalidDenial, noDecision, rulesFailed, wrongUpdates } from './permission-texts.ts'

/** The decision about a call. */
export type PermissionDecision =
  | {
      readonly behavior: 'allow'
      /** Replaces the whole input of the call. Default: the input is unchanged. */
      readonly updatedInput?: unknown
      /** A rule, a mode or a person allows this specific call, so it runs even if its tool requires approval (`Tool.needsApproval`). Set by rules only. */
      readonly explicit?: true
      /** The call runs only confined, as its tool supports (`ToolContext.confined`). A tool that cannot confine it does not run it. Set by rules only. */
      readonly confined?: true
      /** Permission changes that a person grants for the future. Valid only in an answer from a person: rules and hooks cannot change rules. */
      readonly updatedPermissions?: readonly PermissionUpdate[]
    }
  /** The message goes to the model and names the rule that would allow the call. With `interrupt`, the person also ends the run. */
  | {
      readonly behavior: 'deny'
      /** Why it is denied. */
      readonly message: string
      readonly interrupt?: true
    }
  /** A person must decide. If no person can answer, the run ends as `needs_approval`. */
  | {
      readonly behavior: 'ask'
      /** What to ask the person. */
      readonly message: string
    }
  /** The call cannot succeed, so no person is asked: the message is its result. */
  | {
      readonly behavior: 'fail'
      /** Why it cannot succeed. */
      readonly message: string
    }

/** Reads each field of a returned decision once, as JSON. An invalid decision denies the call: only an explicit `allow` allows it. */
export function decisionOf(value: unknown): PermissionDecision {
  if (typeof value !== 'object' || value === null) return undecided
  try {
    // JavaScript code may return any fields, or none.
    const { behavior, message, updatedInput, confined } = value as { readonly [field: string]: unknown }
    if (behavior === 'allow')
      return {
        behavior,
        ...(updatedInput !== undefined && { updatedInput: jsonOf(updatedInput) }),
        ...(confined === true && { confined }),
      }
    return behavior === 'deny' || behavior === 'ask' || behavior === 'fail'
      ? { behavior, message: plainTextOf(message) }
      : undecided
  } catch (error) {
    return failedRules(error)
  }
}

/** A person's answer as it is recorded: a decision plus the permission changes. */
export function recordedAnswer(value: unknown): PermissionDecision {
  try {
    const decision = decisionOf(value)
    // `decisionOf` has checked that it is an object, or has denied.
    const { updatedPermissions, interrupt } = Object(value) as { readonly [field: string]: unknown }
    if (decision.behavior === 'deny') return interrupt === true ? { ...decision, interrupt } : decision
    if (decision.behavior !== 'allow' || updatedPermissions === undefined || updatedPermissions === null)
      return decision
    const updates = permissionUpdatesOf(updatedPermissions)
    if (typeof updates !== 'string') return { ...decision, updatedPermissions: updates }
    return { behavior: 'deny', message: invalidAnswer(wrongUpdates(updates)) }
  } catch (error) {
    return failedRules(error)
  }
}

const undecided: PermissionDecision = Object.freeze<PermissionDecision>({
  behavior: 'deny',
  message: noDecision,
})

/** Permission rules that throw deny the call. */
export function failedRules(error: unknown): PermissionDecision & { readonly behavior: 'deny' } {
  return { behavior: 'deny', message: rulesFailed(messageOf(error)) }
}

/** Reads the result of deny rules: why the call is denied, or undefined. An invalid result denies. */
export function denialOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === false) return undefined
  if (typeof value === 'string') return value
  ignoreRejection(value)
  return invalidDenial
}
