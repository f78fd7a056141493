import { nodeTransport } from '../../src/http/node-transport.ts'

/** Tracks how much of a response was read, so that a fault server fails exactly then. */
export interface Ear {
  /** For the `fetch` of an adapter: the default transport, observed by this ear. */
  readonly fetch: typeof globalThis.fetch
  /** For `taken` of a fault server. */
  readonly taken: (bytes: number) => Promise<void>
}

/** An ear for consecutive responses. It observes the reads and changes nothing. */
export function createEar(): Ear {
  /** Bytes of the newest response that were consumed: its reader has asked for more. -1 before the response. */
  let heard = -1
  let waiting: { readonly bytes: number; readonly resolve: () => void } | undefined
  const hear = (bytes: number): void => {
    heard = bytes
    if (waiting !== undefined && heard >= waiting.bytes) waiting.resolve()
  }
  const fetch = async (url: string, init: RequestInit): Promise<unknown> => {
    heard = -1
    const { headers, body, signal } = init
    const request = { url, headers, body } as Parameters<typeof nodeTransport>[0]
    const answer = await nodeTransport(request, signal ?? new AbortController().signal)
    let bytes = 0
    const read = async (): Promise<unknown> => {
      hear(bytes)
      const value = await answer.next()
      bytes += value?.length ?? 0
      return { value, done: value === undefined }
    }
    const getReader = (): unknown => ({ read, cancel: async () => answer.cancel() })
    return { status: answer.status, headers: answer.headers, body: { getReader } }
  }
  return {
    // An adapter uses only this part of `fetch`.
    fetch: fetch as unknown as typeof globalThis.fetch,
    taken(bytes) {
      // Before a response there is nothing to read.
      if (bytes === 0 || heard >= bytes) return Promise.resolve()
      return new Promise((resolve) => void (waiting = { bytes, resolve }))
    },
  }
}
