/** Reference to a large text, by its hash. */
export interface PayloadReference {
  readonly type: 'payload'
  /** SHA-256 of its UTF-8, in hexadecimal. */
  readonly sha256: string
  /** Bytes of its UTF-8. */
  readonly bytes: number
}

/**
 * Stores texts that are too large for the engine, by hash. A stored text is available, unchanged, to all workers. Each
 * session has its own store, which is removed with the session; nothing else refers to it.
 */
export interface PayloadStore {
  /** Size in bytes above which texts are stored here. */
  readonly inlineBytes: number
  /** Stores a text; returns a reference to it. */
  put(text: string): Promise<PayloadReference>
  /** @throws HaltingError `driver` for content that is missing or was changed. */
  get(reference: PayloadReference): Promise<string>
  /** Removes everything in the store. */
  remove(): Promise<void>
}

/** The stores of all sessions. */
export interface PayloadStores {
  /** The store of one session. */
  of(sessionId: string): PayloadStore
}

export function isPayloadReference(value: { readonly type: string }): value is PayloadReference {
  return value.type === 'payload'
}
