import type { ToolOutput } from '@halting/core'

/** An error result that explains the problem and the next step to the model. */
export function errorResult(message: string): ToolOutput {
  return { content: message, isError: true }
}
