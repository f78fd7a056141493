import { plainTextOf } from '../model/content.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { fieldsOf } from '../values/given.ts'
import type { JsonObject } from '../values/json.ts'
import { InvalidAnswer, problemOfAnswer } from './answer-shape.ts'
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
 * Asks a person about a call that rules, mode and hooks leave open. The answer is on record before it counts.
 * One that throws denies the call. What is no answer breaks the run: it is an error of the program, and nothing runs.
 */
export type CanUseTool = (
  toolName: string,
  input: JsonObject,
  options: CanUseToolOptions,
) => PermissionAnswer | Promise<PermissionAnswer>

/** What a callback is told beside the call. */
export interface CanUseToolOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /** Id of the call. */
  readonly toolUseID: string
  /** Changes that would let this call and its like run without a question. */
  readonly suggestions: readonly PermissionUpdate[]
  /** Why it is asked about. */
  readonly decisionReason: string
  /** What kind of reason that is, where the rules tell it. */
  readonly decisionReasonType?: AskCause['type']
  /** The path that is not open to the call, where it is about one. */
  readonly blockedPath?: string
  /** The subagent that makes the call. */
  readonly agentID?: string
}

/** What a person says. `updatedInput` takes the place of the whole input; deny rules are held against it. */
export type PermissionAnswer = Extract<PermissionDecision, { readonly behavior: 'allow' | 'deny' }>

/** What was given as an answer, read once. What is none breaks the run where it is waited for. */
export function answerOf(given: unknown, { modes = [] }: Permissions): PermissionAnswer {
  if (isInstance(given, InvalidAnswer)) return given
  const problem = problemOfAnswer(given)
  if (problem !== undefined) return new InvalidAnswer(problem)
  const { behavior, updatedPermissions, message, interrupt } = fieldsOf(given) ?? {}
  if (behavior === 'deny') {
    const said = message === undefined || message === '' ? deniedByUser : plainTextOf(message)
    return { behavior, message: said, ...(interrupt === true && { interrupt }) }
  }
  const decision = decisionOf(given)
  if (decision.behavior === 'ask' || decision.behavior === 'fail') return wrong(wrongBehavior)
  if (updatedPermissions === undefined || updatedPermissions === null) return decision
  const updates = permissionUpdatesOf(updatedPermissions)
  if (typeof updates === 'string') return wrong(wrongUpdates(updates))
  const mode = updates.find((update) => update.type === 'setMode' && !modes.includes(update.mode))
  if (mode?.type === 'setMode') return wrong(wrongUpdates(unknownMode(mode.mode, modes)))
  return decision.behavior === 'allow' ? { ...decision, updatedPermissions: updates } : decision
}

function wrong(what: string): PermissionAnswer {
  return { behavior: 'deny', message: invalidAnswer(what) }
}

// Spec R-ASK-5.
/** What it changes is kept first: an answer that counts is kept. Never rejects. */
export async function keptAnswer(permissions: Permissions, answer: PermissionAnswer): Promise<PermissionAnswer> {
  if (answer.behavior === 'deny' || answer.updatedPermissions === undefined) return answer
  try {
    await permissions.keep?.(answer.updatedPermissions)
    return answer
  } catch (error) {
    return { behavior: 'deny', message: permissionsNotSaved(messageOf(error)) }
  }
}

/** Whether the decision of a person changes more than what becomes of this call. */
export function changesPermissions(given: PermissionDecision): boolean {
  return given.behavior === 'allow' && given.updatedPermissions !== undefined
}

export function failedAnswer(thrown: unknown): PermissionAnswer {
  return { behavior: 'deny', message: cannotAsk(messageOf(thrown)) }
}

export function lateAnswer(timeoutMs: number): PermissionAnswer {
  return { behavior: 'deny', message: noAnswerInTime(timeoutMs / 1_000) }
}
