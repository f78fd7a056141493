import type { RunResult } from '../endings/terminal.ts'

/** What a client is told of a run, or of a subagent, that failed. */
export interface ErrorTextOptions {
  /**
   * What a client receives as the message of a run that failed, in place of the message of the ending: that one may name files, addresses and keys of the server
   * or of its model. By default a sentence without these. `({ signal }) => signal.message` sends the message as it is.
   */
  readonly errorText?: ((result: RunResult) => string) | undefined
}

export type ErrorText = (result: RunResult) => string

/** A stream that has come this far ends, whatever the function of the program does. */
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
