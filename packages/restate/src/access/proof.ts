import { createHmac, timingSafeEqual } from 'node:crypto'
import { ConfigurationError } from '@halting/core'

/** Header that carries the proof. */
export const proofHeader = 'x-halting-proof'

/** The call that a proof is for. */
export interface ProofSubject {
  /** `SERVICE/HANDLER` or `OBJECT/KEY/HANDLER`, each part encoded by `encodeURIComponent`, so that parts cannot be confused. */
  readonly target: string
  readonly body: string | Uint8Array
}

/** Minimum length of a cluster token, in characters. */
export const minTokenLength = 16

/**
 * Proves that the caller knows the token. The engine stores the headers of a call, so the token itself is not among
 * them. A proof is valid for one call: somebody who reads the proof can only repeat that call.
 */
function proofOf(token: string, { target, body }: ProofSubject): string {
  return createHmac('sha256', token).update(`${target}\n`).update(body).digest('hex')
}

/**
 * Headers by which a call through the ingress proves that it knows the token; empty without a token. `path` is the path of the URL, `/SERVICE/HANDLER` or `/OBJECT/KEY/HANDLER`,
 * where a trailing `/send` does not count. `body` is the exact text that is sent.
 */
export function proofHeaders(token: string | undefined, path: string, body = ''): { readonly [name: string]: string } {
  if (token === undefined) return {}
  const target = path.replace(/^\//, '').replace(/\/send$/, '')
  return { [proofHeader]: proofOf(token, { target, body }) }
}

/** Whether the proof shows that the caller of this handler knows the token. */
export function isProof(proof: string | undefined, token: string, subject: ProofSubject): boolean {
  if (proof === undefined) return false
  const [actual, expected] = [Buffer.from(proof), Buffer.from(proofOf(token, subject))]
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/** @throws ConfigurationError for a token that is too short. */
export function checkToken(token: string): string {
  if (token.length >= minTokenLength) return token
  throw new ConfigurationError(
    `A cluster token needs at least ${minTokenLength} characters. Create one with: openssl rand -hex 32`,
  )
}
