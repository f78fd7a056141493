import { isJsonObject } from '@halting/core/adapters'
import type { FoldedSession } from '@halting/core/steps'

/** A call that a run left waiting for a person, with the question. */
export interface WaitingCall {
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** The question. */
  readonly message: string
}

/** The calls that the last run waits with; none when it ended otherwise. */
export function waitingCalls({
  ended,
  open,
  isRewound,
}: Pick<FoldedSession, 'ended' | 'open' | 'isRewound'>): readonly WaitingCall[] {
  const last = ended.at(-1)
  if (open !== undefined || isRewound === true || last?.terminal.reason !== 'needs_approval') return []
  return pendingOf(last.terminal.signal.context)
}

/** What an ending that needs an approval says of the calls. */
export function pendingOf({ pending }: { readonly [field: string]: unknown }): readonly WaitingCall[] {
  return Array.isArray(pending) ? pending.filter(isWaitingCall) : []
}

/** The loop writes it so. What a signal holds beside its reason is anybody's. */
function isWaitingCall(value: unknown): value is WaitingCall {
  return isJsonObject(value) && ['id', 'name', 'message'].every((field) => typeof value[field] === 'string')
}
