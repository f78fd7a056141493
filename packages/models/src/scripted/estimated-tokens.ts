/** Four characters a token: of requests and of replies alike, so that a reply counts the same when it is sent back. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / 4)
}
