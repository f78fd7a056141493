/** An error of the network as Node makes them: with a code that `networkError` knows. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/**
 * What went wrong with a connection, and whether it had been made. TLS and the network fail with the same codes before
 * and after: before, no request can have gone out; after, it may have been worked on.
 */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure'
  readonly stage: 'connecting' | 'connected'

  constructor(stage: ConnectionFailure['stage'], cause: unknown) {
    super('The connection failed.', { cause })
    this.stage = stage
  }
}
