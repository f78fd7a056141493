// Spec R-ABORT-9.
/**
 * Tool calls that did not react to an abort within the grace time and may still be running. A writing tool of a later
 * run waits for them, so that two tools never write to one file at once.
 */
export class OrphanedTools {
  #atWork: Set<Promise<void>> | undefined

  add(work: Promise<unknown>): void {
    const atWork = (this.#atWork ??= new Set())
    const done = work.then(
      () => {},
      () => {},
    )
    atWork.add(done)
    void done.then(() => atWork.delete(done))
  }

  /** Resolves when all orphaned calls have settled; undefined when there are none. */
  settled(): Promise<void> | undefined {
    const atWork = this.#atWork
    return atWork === undefined || atWork.size === 0 ? undefined : Promise.all(atWork).then(() => {})
  }
}
