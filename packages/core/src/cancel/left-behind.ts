/**
 * Tool calls that did not heed an abort and were left behind (spec R-ABORT-9): they may still be at work.
 * A writing tool of a later run waits for them, so that two hands never hold one file.
 */
export interface LeftBehind {
  add(work: Promise<unknown>): void
  /** Settles when all of them have; undefined when there are none. */
  settled(): Promise<void> | undefined
}

export function createLeftBehind(): LeftBehind {
  const atWork = new Set<Promise<void>>()
  return {
    add(work) {
      const done = work.then(
        () => {},
        () => {},
      )
      atWork.add(done)
      void done.then(() => atWork.delete(done))
    },
    settled() {
      return atWork.size === 0 ? undefined : Promise.all(atWork).then(() => {})
    },
  }
}
