import type { Eventually } from '../values/eventually.ts'

/** Work that goes on beside a turn. The turn ends when it has ended. */
export interface Staging {
  /** Waits for it and enters what it came to. */
  join(): Eventually<undefined>
  /** The run failed: enters what it cost, and records nothing any more. Never rejects. */
  leave(): Promise<void>
}
