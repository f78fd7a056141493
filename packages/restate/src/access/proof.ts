import { createHmac, timingSafeEqual } from 'node:crypto'
import { ConfigurationError } from '@halting/core'

/** The header that a proof comes in. */
export const proofHeader = 'x-halting-proof'

/** What is asked, and of which handler. */
export interface ProofSubject {
  /** `SERVICE/HANDLER`, or `OBJECT/KEY/HANDLER`, each part as `encodeURIComponent` writes it: no part can be taken for another one. */
  readonly target: string
  readonly body: string | Uint8Array
}

/** So many characters a token of a cluster has at least. */
export const minTokenLength = 16

/**
 * Shows that who asks knows the token. The engine keeps the headers of a call as long as it keeps the call, so the token is not among them. A proof is of one call: who
 * reads it there can ask the same once more, and nothing else.
 */
function proofOf(token: string, { target, body }: ProofSubject): string {
  return createHmac('sha256', token).update(`${target}\n`).update(body).digest('hex')
}

/**
 * What a call by the ingress sends to prove that it knows the token; nothing without one. `path` is that of the URL, `/SERVICE/HANDLER` or `/OBJECT/KEY/HANDLER`;
 * `/send` behind it is no part of what is asked. `body` is the text that is sent, to the letter.
 */
export function proofHeaders(token: string | undefined, path: string, body = ''): { readonly [name: string]: string } {
  if (token === undefined) return {}
  const target = path.replace(/^\//, '').replace(/\/send$/, '')
  return { [proofHeader]: proofOf(token, { target, body }) }
}

/** Whether what was given proves that who asks this knows the token. */
export function isProof(proof: string | undefined, token: string, subject: ProofSubject): boolean {
  if (proof === undefined) return false
  const [actual, expected] = [Buffer.from(proof), Buffer.from(proofOf(token, subject))]
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/** @throws ConfigurationError for one that can be guessed. */
export function checkToken(token: string): string {
  if (token.length >= minTokenLength) return token
  throw new ConfigurationError(
    `A token of a cluster has ${minTokenLength} characters at least, such as those of: openssl rand -hex 32`,
  )
}
