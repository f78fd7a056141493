/**
 * Estimates tokens at four characters each, times `factor`. The same estimate applies to requests and replies, so a
 * reply counts the same when it is sent back.
 */
export function estimatedTokens(text: string, factor = 1): number {
  return Math.ceil((text.length / 4) * factor)
}
