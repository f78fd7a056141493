import type { RunResult } from '../endings/run-result.ts'

/** What a client learns of a failed run or subagent. */
export interface ErrorTextOptions {
  /**
   * The error message of a failed run for clients, instead of the ending's message, which may contain files, addresses
   * and keys of the server or its model. Default: a sentence without these. `({ signal }) => signal.message` sends the
   * original message.
   */
  readonly errorText?: ((result: RunResult) => string) | undefined
}

export type ErrorText = (result: RunResult) => string

/** The stream ends properly, even if the program's function throws. */
export function safeErrorText(errorText: ErrorTextOptions['errorText']): ErrorText {
  return (result) => {
    const withoutDetails = `The run failed (${result.reason}).`
    try {
      const text: unknown = errorText?.(result)
      return typeof text === 'string' ? text : withoutDetails
    } catch {
      return withoutDetails
    }
  }
}
