import { ConfigurationError, isInstance } from '../values/errors.ts'
import { fieldsOf, describeValue } from '../values/validators.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import type { PendingApproval } from './pending-approval.ts'
import type { Transcript } from '../conversation/transcript.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'

// A program's answer on behalf of a person has the same shape in every API (spec R-ASK-8).

/** The accepted behaviors. `ask` leaves the permission request open, and is only valid for answers that are passed before a run. */
type Behaviors = 'allow or deny' | 'allow, deny or ask'

const shapes = "{ behavior: 'allow', updatedInput?, updatedPermissions? } or { behavior: 'deny', message }"

/**
 * The known fields of an `allow` answer. An unknown field may have been meant to narrow the permission, so it is
 * refused. In a denial an unknown field is harmless. Agent SDK hosts use the last four fields.
 */
const allowFields: ReadonlySet<string> = new Set([
  'behavior',
  'updatedInput',
  'updatedPermissions',
  'message',
  'interrupt',
  'toolUseID',
  'decisionClassification',
])

/** Describes why a value is not a valid answer to a permission request; undefined for a valid one. */
export function answerProblem(value: unknown, behaviors: Behaviors = 'allow or deny'): string | undefined {
  try {
    const answer = fieldsOf(value)
    const { behavior } = answer ?? {}
    if (answer === undefined) return `An answer is ${shapes}, but it was ${describeValue(value)}.`
    if (behavior === 'deny' || (behavior === 'ask' && behaviors === 'allow, deny or ask')) return undefined
    if (behavior !== 'allow') return `An answer is ${shapes}, but its behavior was ${describeValue(behavior)}.`
    const unknownField = Object.keys(answer).find((field) => !allowFields.has(field) && answer[field] !== undefined)
    return unknownField === undefined
      ? undefined
      : `An answer is ${shapes}. It had the field ${describeValue(unknownField)}: another input is updatedInput.`
  } catch {
    return `An answer is ${shapes}, but it could not be read.`
  }
}

/** Checks that a value is an answer to a permission request. @throws ConfigurationError for any other value. */
export function checkAnswer(value: unknown): void {
  if (isInstance(value, InvalidAnswer)) return
  const problem = answerProblem(value)
  if (problem !== undefined) throw new ConfigurationError(problem)
}

/** Checks that answers belong to pending calls. @throws ConfigurationError for an answer to a call that is not pending, and for an invalid answer. */
export function checkApprovals(approvals: object, transcript: Transcript): void {
  const ids = openCallsOf(transcript).map(({ id }) => id)
  for (const [id, answer] of Object.entries<unknown>({ ...approvals })) {
    if (answer === undefined) continue
    if (!ids.includes(id))
      throw new ConfigurationError(`No call ${describeValue(id)} waits for an answer. These wait: ${ids.join(', ')}.`)
    const problem = answerProblem(answer, 'allow, deny or ask')
    if (problem !== undefined) throw new ConfigurationError(`approvals[${describeValue(id)}]: ${problem}`)
  }
}

/**
 * Maps answers to the keys of the pending calls of an open run. An answer `ask` leaves its call pending.
 * @throws ConfigurationError for an answer to a call that is not pending, an ambiguous call id, or an invalid answer.
 */
export function answersByKey(
  approvals: object,
  pending: readonly PendingApproval[],
): ReadonlyMap<string, PermissionDecision> {
  const answers = new Map<string, PermissionDecision>()
  for (const [id, answer] of Object.entries<unknown>({ ...approvals })) {
    if (answer === undefined) continue
    const matching = pending.filter(({ callId, key }) => callId === id || key === id)
    const [first] = matching
    if (first?.key === undefined) {
      const waiting =
        pending.length === 0 ? 'No call waits.' : `These wait: ${pending.map(({ callId }) => callId).join(', ')}.`
      throw new ConfigurationError(`No call ${describeValue(id)} waits for an answer. ${waiting}`)
    }
    if (matching.length > 1)
      throw new ConfigurationError(
        `${matching.length} calls with the id ${describeValue(id)} wait. Answer each by its key: ${matching.map(({ key }) => key).join(', ')}.`,
      )
    const problem = answerProblem(answer, 'allow, deny or ask')
    if (problem !== undefined) throw new ConfigurationError(`approvals[${describeValue(id)}]: ${problem}`)
    // `answerProblem` has validated this value above.
    const decision = answer as PermissionDecision
    if (decision.behavior !== 'ask') answers.set(first.key, decision)
  }
  return answers
}

/**
 * An invalid answer from a caller that cannot receive an error immediately. The answer denies the call, and the run
 * breaks with the message of the answer. The record stores the answer unchanged, so that a replay ends the same way.
 */
export class InvalidAnswer {
  readonly behavior = 'deny'
  readonly isInvalid = true
  /** What was wrong with the answer. */
  readonly message: string

  constructor(message: string) {
    this.message = message
  }

  /** The problem of a recorded invalid answer; undefined for a valid answer. */
  static messageOf(recorded: unknown): string | undefined {
    const { isInvalid, message } = fieldsOf(recorded) ?? {}
    return isInvalid === true ? String(message) : undefined
  }
}
