import { nodeTransport } from '../../src/http/node-transport.ts'

/** Hears how much of an answer has been read, so that a fault server fails when it has been, and not before. */
export interface Ear {
  /** For an adapter's `fetch`: the transport that it has by itself, with an ear on it. */
  readonly fetch: typeof globalThis.fetch
  /** For a fault server's `taken`. */
  readonly taken: (bytes: number) => Promise<void>
}

/** An ear for one answer after another; it looks at what is read and changes nothing. */
export function createEar(): Ear {
  /** Bytes of the newest answer that were taken for good: its reader has come back for more. -1 before it has come. */
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
    // Of `fetch` an adapter uses no more than this.
    fetch: fetch as unknown as typeof globalThis.fetch,
    taken(bytes) {
      // Before an answer there is nothing to be read.
      if (bytes === 0 || heard >= bytes) return Promise.resolve()
      return new Promise((resolve) => void (waiting = { bytes, resolve }))
    },
  }
}
