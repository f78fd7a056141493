import { messageOf } from '@halting/core/adapters'

/** Why a request got no answer: `fetch` hides the reason behind its error. */
export function fetchFailure(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error).trim()
}
