import type { ModelError, ModelReply } from '@halting/core'
import type { Assembled } from './stream-reader.ts'

// Spec R-REQ-7.
/**
 * Returns the reply at the end of a stream. A broken stream without completed blocks is an error, which may be retried.
 * Otherwise its completed blocks are preserved, and `streamError` reports the failure.
 * @throws the result of `error`.
 */
export function replyOf(assembled: Assembled, error: () => ModelError): ModelReply {
  switch (assembled.kind) {
    case 'complete':
      return wholeReplyOf(assembled)
    case 'partial':
      return { message: assembled.message, streamError: error() }
    case 'nothing':
      throw error()
  }
}

export function wholeReplyOf({ message, billed }: Extract<Assembled, { readonly kind: 'complete' }>): ModelReply {
  return billed === undefined ? { message } : { message, billed }
}
