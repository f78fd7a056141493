import { HaltingError } from '@halting/core'
import { UsageError } from '../usage-error.ts'

/** Waits for a session to be read. @throws UsageError that says what is wrong with the session, and where */
export async function asUsageError<Value>(reading: Promise<Value>): Promise<Value> {
  try {
    return await reading
  } catch (error) {
    throw error instanceof HaltingError ? new UsageError(error.message) : error
  }
}
