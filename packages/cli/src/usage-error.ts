/** The request is invalid. The message is printed to stderr before anything runs; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'usage'
}
