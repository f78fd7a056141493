/** An error of the network as Node makes them: with a code that `networkError` knows. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/**
 * What broke a connection that had been made. The request may have been worked on, whatever the code of the cause says:
 * TLS and the network fail with the same codes before and after.
 */
export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'

  constructor(cause: unknown) {
    super('The connection broke.', { cause })
  }
}
