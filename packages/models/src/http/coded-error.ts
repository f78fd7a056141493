/** An error of the network as Node makes them: with a code that `networkError` knows. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
