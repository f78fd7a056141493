/** Does its work at the first call; the others give nothing. */
export function once<T>(work: () => T): () => T | undefined {
  let isDone = false
  return () => {
    if (isDone) return undefined
    isDone = true
    return work()
  }
}
