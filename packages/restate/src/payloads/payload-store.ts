/** Where a large text is, by what it holds. */
export interface PayloadReference {
  readonly type: 'payload'
  /** SHA-256 of its UTF-8, in hexadecimal. */
  readonly sha256: string
  /** Bytes of its UTF-8. */
  readonly bytes: number
}

/**
 * Keeps what is too large for the engine, by its hash. What was put is there, and the same, for all workers. Each session has its own: what it put goes with the
 * session, and nothing else names it.
 */
export interface PayloadStore {
  /** Texts of more bytes than this are put here. */
  readonly inlineBytes: number
  /** Stores a text; returns where it is. */
  put(text: string): Promise<PayloadReference>
  /** @throws HaltingError `driver` for what is not there, or is not what it was. */
  get(reference: PayloadReference): Promise<string>
  /** Removes all that was put. */
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
