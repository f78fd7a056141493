/** A credential for a service. */
export interface Credential {
  /** Sent as the service's key header. */
  readonly apiKey?: string | undefined
  /** Sent as `authorization: Bearer …`. */
  readonly authToken?: string | undefined
}

/**
 * Returns the current credential. `refused` is the one that the service has just rejected with 401, so a new one is
 * needed, from a key helper or an OAuth refresh. The function is called before each request; caching is up to the
 * source. An error that the function throws ends the run with `authentication_failed`.
 */
export type CredentialSource = (asked: {
  /** The credential that the service has just rejected; null if none. */
  readonly refused: Credential | null
  /** Aborts with the request. */
  readonly signal: AbortSignal
}) => Credential | Promise<Credential>
