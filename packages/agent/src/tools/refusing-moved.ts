import type { ToolOutput } from '@halting/core'
import { PathMovedError } from '../open-in-place.ts'
import { failed } from './result.ts'

/** A path that has come to lead elsewhere is told to the model, and not thrown. */
export async function refusingMoved(work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof PathMovedError) return failed(thrown.message)
    throw thrown
  }
}
