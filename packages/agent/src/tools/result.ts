import type { ToolOutput } from '@halting/core'

/** A result that says to the model what went wrong and what to do. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true }
}

/** The `code` of an error of Node, such as ENOENT. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
