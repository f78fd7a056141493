import type { ModelError, ModelReply } from '@halting/core'
import type { Assembled } from './stream-reader.ts'

// Spec R-REQ-7.
/**
 * The reply that stands at the end of a stream. One that broke is an error while nothing was completed, which may be
 * retried; after that its completed blocks are kept, and `streamError` says that more was to come.
 * @throws what `error` gives.
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
