import type { ToolOutput } from '@halting/core'

export { codeOf } from '@halting/core/adapters'

/** A result that says to the model what went wrong and what to do. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true }
}
