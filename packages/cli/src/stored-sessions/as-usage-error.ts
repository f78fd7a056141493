import { HaltingError } from '@halting/core'
import { UsageError } from '../usage-error.ts'

/** What was read of a session. @throws UsageError for one that cannot be read, with what is wrong in it and where. */
export async function asUsageError<Value>(reading: Promise<Value>): Promise<Value> {
  try {
    return await reading
  } catch (error) {
    throw error instanceof HaltingError ? new UsageError(error.message) : error
  }
}
