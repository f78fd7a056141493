/** The request failed for a reason outside this program. The message is printed to stderr; the exit code is 1. */
export class FailedError extends Error {
  override readonly name = 'FailedError'
}
