import { ConfigurationError } from '../values/errors.ts'
import type { ModelMessage } from '../model/messages.ts'
import { openCallsOf } from './open-calls.ts'
import { storedProblemOf } from '../values/stored-checks.ts'
import { isModelMessages } from './stored-transcript.ts'
import type { Transcript } from './transcript.ts'
import { transcriptProblems } from './transcript-problems.ts'

// Spec R-HOOK-11.
/**
 * Checks that `messages` may replace the transcript in the model's view.
 * @throws ConfigurationError when the service would refuse them, or a result would lack its call.
 */
export function checkReplacement(before: Transcript, messages: readonly ModelMessage[]): void {
  const problem = problemOf(before, messages)
  if (problem !== undefined) throw new ConfigurationError(`The transcript cannot be replaced: ${problem}.`)
}

function problemOf(before: Transcript, messages: readonly ModelMessage[]): string | undefined {
  if (openCallsOf(before).length > 0)
    return 'calls of its last message have no result yet. Replace it before or after a step, or when the run stops'
  const problem = storedProblemOf(messages, isModelMessages)
  if (problem !== undefined) return problem
  const problems = transcriptProblems(messages)
  if (problems.length > 0) return problems.join('; ')
  const endsWithUser = (list: readonly ModelMessage[]): boolean => list.at(-1)?.role === 'user'
  if (endsWithUser(before.messages()) && !endsWithUser(messages))
    return 'its last message must be from the user, as it is now'
  return undefined
}
