/** What a process at a session of a store is told. */
export interface Orders {
  /** Where it notes what it did. */
  readonly folder: string
  readonly sessionId: string
  readonly turns: number
  /** It stands still before it appends its record of this number, counted from 1, to be killed; 0 for after its run has ended, null for never. */
  readonly stopAt: number | null
  /** Where the store is. */
  readonly store: string
}

/** What the process that came to the end leaves. */
export interface Left {
  readonly reason: string
  readonly error: string | null
  readonly messages: readonly unknown[]
  readonly problems: readonly string[]
  readonly lastReason: string | null
  /** Records in the store. */
  readonly starts: number
  readonly ends: number
}
