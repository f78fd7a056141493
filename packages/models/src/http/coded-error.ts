/** Creates a network error with a code that `networkError` knows, as Node does. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/**
 * A connection failure, and whether the connection had been established. TLS and the network use the same codes in both
 * cases. Before, no request was sent; after, the service may have processed it.
 */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure'
  readonly stage: 'connecting' | 'connected'

  constructor(stage: ConnectionFailure['stage'], cause: unknown) {
    super('The connection failed.', { cause })
    this.stage = stage
  }
}
