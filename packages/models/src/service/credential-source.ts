/** What proves who asks. */
export interface Credential {
  /** Sent as the service's key header. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
}

/**
 * Gives the credential to use now. `refused` is the one that the service has just answered 401 to: then a new one is
 * wanted, from a key helper or an OAuth refresh. It is asked before each request: caching is its own business.
 * What it throws ends the run, as `authentication_failed`.
 */
export type CredentialSource = (asked: {
  /** The credential that the service has just refused; null for none. */
  readonly refused: Credential | null
  /** Aborted when the request is. */
  readonly signal: AbortSignal
}) => Credential | Promise<Credential>
