import { plainTextOf } from '../model/content.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { fieldsOf } from '../values/validators.ts'
import type { JsonObject } from '../values/json.ts'
import { InvalidAnswer, answerProblem } from './answer-shape.ts'
import { decisionOf, type PermissionDecision } from '../permissions/permission-decision.ts'
import { permissionUpdatesOf, type PermissionUpdate } from '../permissions/permission-update.ts'
import type { AskCause, Permissions } from '../tools/permissions.ts'
import {
  cannotAsk,
  deniedByUser,
  invalidAnswer,
  noAnswerInTime,
  permissionsNotSaved,
  unknownMode,
  wrongBehavior,
  wrongUpdates,
} from '../permissions/permission-texts.ts'

// Spec R-ASK-1.
/**
 * Asks a person about a call that rules, mode and hooks do not decide. The answer is recorded before it takes effect. If
 * the callback throws, the call is denied. An invalid answer is an error of the program: it breaks the run, and no tool
 * is executed.
 */
export type CanUseTool = (
  toolName: string,
  input: JsonObject,
  options: CanUseToolOptions,
) => PermissionAnswer | Promise<PermissionAnswer>

/** Further information for the callback. */
export interface CanUseToolOptions {
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal
  /** Id of the call. */
  readonly toolUseID: string
  /** Permission changes that would let this call and similar calls run without asking. */
  readonly suggestions: readonly PermissionUpdate[]
  /** Why a person is asked. */
  readonly decisionReason: string
  /** The kind of the reason, if the rules report one. */
  readonly decisionReasonType?: AskCause['type']
  /** The path that the call may not access, if that is the reason. */
  readonly blockedPath?: string
  /** The subagent that makes the call. */
  readonly agentID?: string
}

/** A person's answer. `updatedInput` replaces the whole input; deny rules are checked against it. */
export type PermissionAnswer = Extract<PermissionDecision, { readonly behavior: 'allow' | 'deny' }>

/** Returns a checked copy of an answer. An invalid answer breaks the run at the point where the run waits for it. */
export function checkedAnswer(value: unknown, { modes = [] }: Permissions): PermissionAnswer {
  if (isInstance(value, InvalidAnswer)) return value
  const problem = answerProblem(value)
  if (problem !== undefined) return new InvalidAnswer(problem)
  const { behavior, updatedPermissions, message, interrupt } = fieldsOf(value) ?? {}
  if (behavior === 'deny') {
    const text = message === undefined || message === '' ? deniedByUser : plainTextOf(message)
    return { behavior, message: text, ...(interrupt === true && { interrupt }) }
  }
  const decision = decisionOf(value)
  if (decision.behavior === 'ask' || decision.behavior === 'fail') return invalidDenial(wrongBehavior)
  if (updatedPermissions === undefined || updatedPermissions === null) return decision
  const updates = permissionUpdatesOf(updatedPermissions)
  if (typeof updates === 'string') return invalidDenial(wrongUpdates(updates))
  const mode = updates.find((update) => update.type === 'setMode' && !modes.includes(update.mode))
  if (mode?.type === 'setMode') return invalidDenial(wrongUpdates(unknownMode(mode.mode, modes)))
  return decision.behavior === 'allow' ? { ...decision, updatedPermissions: updates } : decision
}

function invalidDenial(problem: string): PermissionAnswer {
  return { behavior: 'deny', message: invalidAnswer(problem) }
}

// Spec R-ASK-5.
/** Saves the permission changes of an answer before the answer takes effect. Never rejects. */
export async function savedAnswer(permissions: Permissions, answer: PermissionAnswer): Promise<PermissionAnswer> {
  if (answer.behavior === 'deny' || answer.updatedPermissions === undefined) return answer
  try {
    await permissions.keep?.(answer.updatedPermissions)
    return answer
  } catch (error) {
    return { behavior: 'deny', message: permissionsNotSaved(messageOf(error)) }
  }
}

/** Whether the decision of a person changes permissions in addition to deciding this call. */
export function changesPermissions(value: PermissionDecision): boolean {
  return value.behavior === 'allow' && value.updatedPermissions !== undefined
}

export function failureDenial(thrown: unknown): PermissionAnswer {
  return { behavior: 'deny', message: cannotAsk(messageOf(thrown)) }
}

export function timeoutDenial(timeoutMs: number): PermissionAnswer {
  return { behavior: 'deny', message: noAnswerInTime(timeoutMs / 1_000) }
}
