/** The orders for a process on a session of a store. */
export interface Orders {
  /** The file in which it records its actions. */
  readonly folder: string
  readonly sessionId: string
  readonly turns: number
  /** It stops before it appends its record of this number, counted from 1, to be killed; 0 means after its run has ended, null never. */
  readonly stopAt: number | null
  /** The location of the store. */
  readonly store: string
}

/** The report of the process that reached the end. */
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
