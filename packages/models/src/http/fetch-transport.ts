import type { HttpAnswer, Transport } from './transport.ts'

/** Requests by the `fetch` that a program has given. */
export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return async ({ url, headers, body }, signal) => {
    // Bodies are written to memory of their own, never to a SharedArrayBuffer, which `fetch` refuses. The parameter of `Uint8Array` exists since TypeScript 5.7,
    // so no declaration has it.
    const sent = body === undefined ? {} : { method: 'POST', body: body as Uint8Array<ArrayBuffer> }
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
