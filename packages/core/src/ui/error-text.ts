import type { RunResult } from '../endings/run-result.ts'

/** Options for the errors that a client receives about a failed run or subagent. */
export interface ErrorTextOptions {
  /**
   * Returns the error message of a failed run for clients. It replaces the message of the ending, which may contain
   * files, addresses and keys of the server or its model. Default: a sentence without these. `({ signal }) =>
   * signal.message` sends the original message.
   */
  readonly errorText?: ((result: RunResult) => string) | undefined
}

export type ErrorText = (result: RunResult) => string

/** Returns the text even if the program's function throws, so that the stream ends properly. */
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
