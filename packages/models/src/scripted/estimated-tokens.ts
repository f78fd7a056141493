/**
 * Four characters a token, or `factor` times as many tokens: of requests and of replies alike, so that a reply counts the
 * same when it is sent back.
 */
export function estimatedTokens(text: string, factor = 1): number {
  return Math.ceil((text.length / 4) * factor)
}
