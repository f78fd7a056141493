/** What the person asked for could not be done to its end, for no fault of this program: told on stderr as it is, exit code 1. */
export class FailedError extends Error {
  override readonly name = 'FailedError'
}
