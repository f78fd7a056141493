import { shortestToken } from '@halting/restate/client'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { clusterTokenVariable } from './cluster-token-variable.ts'

/**
 * The tokens of the cluster. Whoever asks uses the first; workers take each of them, so that one may take the place of another.
 * @throws UsageError for one that can be guessed. It does not say which.
 */
export function clusterTokens(env: Program['env']): readonly string[] {
  const tokens = (env[clusterTokenVariable] ?? '').split(/[\s,]+/).filter((token) => token !== '')
  if (tokens.some((token) => token.length < shortestToken))
    throw new UsageError(
      `${clusterTokenVariable} must have at least ${shortestToken} characters. Create one with openssl rand -hex 32.`,
    )
  return tokens
}
