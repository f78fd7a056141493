import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** Stop reasons with a meaning of their own, which the AI SDK folds into others and keeps as `raw`. */
const keptAsTold: ReadonlySet<string> = new Set([
  'pause_turn',
  'compaction',
  'refusal',
  'stop_sequence',
  'model_context_window_exceeded',
])

/** The stop reason, or why there is none. */
export type StopReason =
  | { readonly kind: 'reason'; readonly reason: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** The stream ended without the service's word that the reply is whole. */
  | { readonly kind: 'interrupted' }

export function stopReasonOf(
  finish: Json | undefined,
  said: { readonly hasCalls: boolean; readonly hasContent: boolean },
): StopReason {
  const { unified, raw } = isJsonObject(finish) ? finish : { unified: finish, raw: finish }
  if (keptAsTold.has(stringOf(raw))) return reason(stringOf(raw))
  const ended = reason(said.hasCalls ? 'tool_use' : 'end_turn')
  switch (unified) {
    case 'stop':
      return ended
    case 'length':
      return reason('max_tokens')
    case 'content-filter':
      return reason('refusal')
    case 'interrupted':
      return { kind: 'interrupted' }
    case 'error':
      return { kind: 'failed', why: `it ended with an error${told(raw)}` }
    default:
      // `tool-calls` without a call is as unclear as a reason that nobody knows.
      return said.hasContent
        ? ended
        : { kind: 'failed', why: `it ended without content and without a reason${told(raw)}` }
  }
}

function reason(reason: string): StopReason {
  return { kind: 'reason', reason }
}

function told(raw: Json | undefined): string {
  return stringOf(raw) === '' ? '' : ` (${stringOf(raw)})`
}
