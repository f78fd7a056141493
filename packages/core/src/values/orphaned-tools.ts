// Spec R-ABORT-9.
/**
 * Tool calls that did not react to an abort within the grace time and may still be running. A writing tool of a later
 * run waits for them, so that two tools never write to one file at once.
 */
export class OrphanedTools {
  #running: Set<Promise<void>> | undefined

  add(work: Promise<unknown>): void {
    const running = (this.#running ??= new Set())
    const done = work.then(
      () => {},
      () => {},
    )
    running.add(done)
    void done.then(() => running.delete(done))
  }

  /** Resolves when all orphaned calls have settled; undefined when there are none. */
  settled(): Promise<void> | undefined {
    const running = this.#running
    return running === undefined || running.size === 0 ? undefined : Promise.all(running).then(() => {})
  }
}
