import { plainTextOf } from '../model/content.ts'
import { messageOf } from '../values/errors.ts'
import { disregard } from '../values/eventually.ts'
import { jsonOf } from '../values/json.ts'
import { permissionUpdatesOf, type PermissionUpdate } from './permission-update.ts'
import { invalidAnswer, invalidDenial, noDecision, rulesFailed, wrongUpdates } from './permission-texts.ts'

/** What the rules say about a call. */
export type PermissionDecision =
  | {
      readonly behavior: 'allow'
      /** Replaces the whole input of the call; absent: the input stays. */
      readonly updatedInput?: unknown
      /** A rule, a mode or a person allows this very call, so that it runs although its tool has a person asked (`Tool.needsApproval`). Only of rules. */
      readonly explicit?: true
      /** It runs only confined, as whoever decided knows to do: a tool that cannot confine it does not run it (`ToolContext.confined`). Only of rules. */
      readonly confined?: true
      /** What a person wants to be allowed from now on. Only of an answer: rules and hooks change no rules. */
      readonly updatedPermissions?: readonly PermissionUpdate[]
    }
  /** The message goes to the model: it says which rule would allow the call. With `interrupt` the person ends the run too. */
  | {
      readonly behavior: 'deny'
      /** Why it is denied. */
      readonly message: string
      readonly interrupt?: true
    }
  /** A person has to say. With nobody there the run ends as `needs_approval`. */
  | {
      readonly behavior: 'ask'
      /** What to ask the person. */
      readonly message: string
    }
  /** The call cannot succeed, so nobody is asked about it: the message is its result. */
  | {
      readonly behavior: 'fail'
      /** Why it cannot succeed. */
      readonly message: string
    }

/** What was given as a decision, read once, as JSON. What is none denies: nothing is allowed that was not said to be. */
export function decisionOf(given: unknown): PermissionDecision {
  if (typeof given !== 'object' || given === null) return undecided
  try {
    // Plain JavaScript may give any fields, or none.
    const { behavior, message, updatedInput, confined } = given as { readonly [field: string]: unknown }
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

/** A person's answer, as it is on record: a decision, with what it changes beside. */
export function recordedAnswer(given: unknown): PermissionDecision {
  try {
    const decision = decisionOf(given)
    // `decisionOf` has seen that it is an object, or has denied.
    const { updatedPermissions, interrupt } = Object(given) as { readonly [field: string]: unknown }
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

/** A rule set that throws denies. */
export function failedRules(error: unknown): PermissionDecision & { readonly behavior: 'deny' } {
  return { behavior: 'deny', message: rulesFailed(messageOf(error)) }
}

/** What deny rules gave: why the call is denied, or undefined. What is neither a text nor nothing denies. */
export function denialOf(given: unknown): string | undefined {
  if (given === undefined || given === null || given === false) return undefined
  if (typeof given === 'string') return given
  disregard(given)
  return invalidDenial
}
