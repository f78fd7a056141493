import { minTokenLength } from '@halting/restate/client'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { clusterTokenVariable } from './cluster-token-variable.ts'

/**
 * The tokens of the cluster. Clients use the first one; workers accept all of them, so that tokens can be rotated.
 * @throws UsageError for a token that is too short; the message does not repeat it
 */
export function clusterTokens(env: Program['env']): readonly string[] {
  const tokens = (env[clusterTokenVariable] ?? '').split(/[\s,]+/).filter((token) => token !== '')
  if (tokens.some((token) => token.length < minTokenLength))
    throw new UsageError(
      `${clusterTokenVariable} must have at least ${minTokenLength} characters. Create one with openssl rand -hex 32.`,
    )
  return tokens
}
