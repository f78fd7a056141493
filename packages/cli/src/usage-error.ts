/** What the person asked for cannot be done as it was written: told on stderr before anything runs, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'usage'
}
