import { isJsonObject } from '@halting/core/adapters'
import type { FoldedSession } from '@halting/core/steps'

/** A call that waits for a person's decision. */
export interface WaitingCall {
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** The question to the person. */
  readonly message: string
}

/** The calls that the last run waits for; empty when it ended otherwise. */
export function waitingCalls({
  ended,
  open,
  isRewound,
}: Pick<FoldedSession, 'ended' | 'open' | 'isRewound'>): readonly WaitingCall[] {
  const last = ended.at(-1)
  if (open !== undefined || isRewound === true || last?.terminal.reason !== 'needs_approval') return []
  return pendingCalls(last.terminal.signal.context)
}

/** The pending calls in the signal of an ending that needs an approval. */
export function pendingCalls({ pending }: { readonly [field: string]: unknown }): readonly WaitingCall[] {
  return Array.isArray(pending) ? pending.filter(isWaitingCall) : []
}

/** The loop writes these fields, but other sources of signals may write anything. */
function isWaitingCall(value: unknown): value is WaitingCall {
  return isJsonObject(value) && ['id', 'name', 'message'].every((field) => typeof value[field] === 'string')
}
