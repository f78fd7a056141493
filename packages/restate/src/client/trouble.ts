import { messageOf } from '@halting/core/adapters'
import type { Trouble } from './follower.ts'

/** What a person is told when nothing is known of a session. */
export function troubleText(trouble: Trouble, isEngineUp: boolean): string {
  if (trouble.type === 'failed')
    return `Cannot follow the session: ${messageOf(trouble.error).replace(/\.$/, '')}. Nothing is lost. Retrying.`
  const seconds = Math.round(trouble.forMs / 1_000)
  return isEngineUp
    ? `No answer for ${seconds} s: the engine accepts requests, but no worker responds, or the engine cannot write because its disk is full. Nothing is lost. Waiting.`
    : `No answer for ${seconds} s: the engine does not respond. Nothing is lost. Waiting.`
}

/** The opposite. */
export const troubleOver = 'The cluster responds again.'
