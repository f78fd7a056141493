import type { HttpAnswer, Transport } from './transport.ts'

/** Requests by the `fetch` that a program has given. */
export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return async ({ url, headers, body }, signal) => {
    const sent = body === undefined ? {} : { method: 'POST', body }
    return answerOf(await fetch(url, { ...sent, headers, signal, redirect: 'manual' }))
  }
}

function answerOf({ status, headers, body }: Response): HttpAnswer {
  const reader = body?.getReader()
  return {
    status,
    headers,
    async next() {
      const piece = await reader?.read()
      return piece?.value
    },
    // `fetch` makes a copy of what it sends.
    isSent: () => true,
    cancel: () => void reader?.cancel().catch(() => {}),
  }
}
