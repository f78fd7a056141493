/** Runs its work on the first call; later calls return undefined. */
export function once<T>(work: () => T): () => T | undefined {
  let isDone = false
  return () => {
    if (isDone) return undefined
    isDone = true
    return work()
  }
}
