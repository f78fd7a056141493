import type { HttpAnswer, Transport } from './transport.ts'

/** Sends requests with the program's `fetch`. */
export function fetchTransport(fetch: typeof globalThis.fetch): Transport {
  return async ({ url, headers, body }, signal) => {
    // Bodies never use a SharedArrayBuffer, which `fetch` rejects. `Uint8Array` has its type parameter only since
    // TypeScript 5.7, so no declaration names it.
    const upload = body === undefined ? {} : { method: 'POST', body: body as Uint8Array<ArrayBuffer> }
    return answerOf(await fetch(url, { ...upload, headers, signal, redirect: 'manual' }))
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
    // `fetch` copies what it sends.
    isSent: () => true,
    cancel: () => void reader?.cancel().catch(() => {}),
  }
}
