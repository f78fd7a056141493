import { ConfigurationError, isInstance } from '../values/errors.ts'
import { fieldsOf, shown } from '../values/given.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import type { PendingApproval } from './pending-approval.ts'
import type { Transcript } from '../conversation/transcript.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'

// What a program gives as the answer of a person has one shape, through whichever door it comes (spec R-ASK-8).

/** `ask`, which keeps the question, is for answers that are given before a run. */
type Behaviors = 'allow or deny' | 'allow, deny or ask'

const shapes = "{ behavior: 'allow', updatedInput?, updatedPermissions? } or { behavior: 'deny', message }"

/** Of a yes a field that nobody reads may have been meant to narrow it; of a no it is harmless. The last four are those of hosts. */
const ofYes: ReadonlySet<string> = new Set([
  'behavior',
  'updatedInput',
  'updatedPermissions',
  'message',
  'interrupt',
  'toolUseID',
  'decisionClassification',
])

/** Why this is no answer to a call, and what one is; undefined for one. */
export function problemOfAnswer(given: unknown, behaviors: Behaviors = 'allow or deny'): string | undefined {
  try {
    const answer = fieldsOf(given)
    const { behavior } = answer ?? {}
    if (answer === undefined) return `An answer is ${shapes}, but it was ${shown(given)}.`
    if (behavior === 'deny' || (behavior === 'ask' && behaviors === 'allow, deny or ask')) return undefined
    if (behavior !== 'allow') return `An answer is ${shapes}, but its behavior was ${shown(behavior)}.`
    const stranger = Object.keys(answer).find((field) => !ofYes.has(field) && answer[field] !== undefined)
    return stranger === undefined
      ? undefined
      : `An answer is ${shapes}. It had the field ${shown(stranger)}: another input is updatedInput.`
  } catch {
    return `An answer is ${shapes}, but it could not be read.`
  }
}

/**
 * Checks that a value is an answer to a call.
 * @throws ConfigurationError for what is no answer to a call.
 */
export function checkAnswer(given: unknown): void {
  if (isInstance(given, InvalidAnswer)) return
  const problem = problemOfAnswer(given)
  if (problem !== undefined) throw new ConfigurationError(problem)
}

/**
 * Checks that answers belong to calls that wait.
 * @throws ConfigurationError for answers to calls that do not wait, and for what is none.
 */
export function checkApprovals(approvals: object, transcript: Transcript): void {
  const ids = openCallsOf(transcript).map(({ id }) => id)
  for (const [id, answer] of Object.entries<unknown>({ ...approvals })) {
    if (answer === undefined) continue
    if (!ids.includes(id))
      throw new ConfigurationError(`No call ${shown(id)} waits for an answer. These wait: ${ids.join(', ')}.`)
    const problem = problemOfAnswer(answer, 'allow, deny or ask')
    if (problem !== undefined) throw new ConfigurationError(`approvals[${shown(id)}]: ${problem}`)
  }
}

/**
 * Answers to the calls that an open run waits with, by the keys of the waits; an answer `ask` leaves its call waiting.
 * @throws ConfigurationError for an answer to a call that does not wait, or to an id that two calls have, and for what is no answer.
 */
export function answersByKey(
  approvals: object,
  pending: readonly PendingApproval[],
): ReadonlyMap<string, PermissionDecision> {
  const answers = new Map<string, PermissionDecision>()
  for (const [id, answer] of Object.entries<unknown>({ ...approvals })) {
    if (answer === undefined) continue
    const meant = pending.filter(({ callId, key }) => callId === id || key === id)
    const [first] = meant
    if (first?.key === undefined) {
      const waiting =
        pending.length === 0 ? 'No call waits.' : `These wait: ${pending.map(({ callId }) => callId).join(', ')}.`
      throw new ConfigurationError(`No call ${shown(id)} waits for an answer. ${waiting}`)
    }
    if (meant.length > 1)
      throw new ConfigurationError(
        `${meant.length} calls with the id ${shown(id)} wait. Answer each by its key: ${meant.map(({ key }) => key).join(', ')}.`,
      )
    const problem = problemOfAnswer(answer, 'allow, deny or ask')
    if (problem !== undefined) throw new ConfigurationError(`approvals[${shown(id)}]: ${problem}`)
    // Just looked at.
    const decision = answer as PermissionDecision
    if (decision.behavior !== 'ask') answers.set(first.key, decision)
  }
  return answers
}

/**
 * What was given in the place of an answer, by whoever cannot be told at once: it denies, and the run breaks with the message.
 * On record it is what it is here, so that a replay ends in the same way.
 */
export class InvalidAnswer {
  readonly behavior = 'deny'
  readonly isInvalid = true
  /** What was wrong with the answer. */
  readonly message: string

  constructor(message: string) {
    this.message = message
  }

  /** Why a recorded answer was none; undefined for one. */
  static messageOf(recorded: unknown): string | undefined {
    const { isInvalid, message } = fieldsOf(recorded) ?? {}
    return isInvalid === true ? String(message) : undefined
  }
}
