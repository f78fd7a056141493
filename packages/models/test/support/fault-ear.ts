/** Hears how much of an answer has been read, so that a fault server fails when it has been, and not before. */
export interface Ear {
  /** For an adapter's `fetch`. */
  readonly fetch: typeof globalThis.fetch
  /** For a fault server's `taken`. */
  readonly taken: (bytes: number) => Promise<void>
}

/** An ear for one answer after another; it looks at what is read and changes nothing. */
export function createEar(fetch: typeof globalThis.fetch = globalThis.fetch): Ear {
  /** Bytes of the newest answer that were taken for good: its reader has come back for more. -1 before it has come. */
  let heard = -1
  let waiting: { readonly bytes: number; readonly resolve: () => void } | undefined
  const hear = (bytes: number): void => {
    heard = bytes
    if (waiting !== undefined && heard >= waiting.bytes) waiting.resolve()
  }
  return {
    async fetch(input, init) {
      heard = -1
      const response = await fetch(input, init)
      const { body } = response
      if (body === null) return response
      const reader = body.getReader()
      const read = reader.read.bind(reader)
      let bytes = 0
      reader.read = async () => {
        hear(bytes)
        const piece = await read()
        bytes += piece.value?.length ?? 0
        return piece
      }
      body.getReader = (() => reader) as typeof body.getReader
      return response
    },
    taken(bytes) {
      // Before an answer there is nothing to be read.
      if (bytes === 0 || heard >= bytes) return Promise.resolve()
      return new Promise((resolve) => void (waiting = { bytes, resolve }))
    },
  }
}
