import type { ToolOutput } from '@halting/core'

/** A result that says to the model what went wrong and what to do. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true }
}
