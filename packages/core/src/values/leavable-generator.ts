/** Whether a reader has left, and callbacks to run when it leaves. */
export class Departure {
  #hasLeft = false
  readonly #ends = new Set<() => void>()

  get hasLeft(): boolean {
    return this.#hasLeft
  }

  leave(): void {
    this.#hasLeft = true
    const ends = [...this.#ends]
    this.#ends.clear()
    for (const end of ends) end()
  }

  /** Calls `end` when the reader leaves, and immediately if it has already left. Call the returned function to unsubscribe. */
  onLeave(end: () => void): () => void {
    if (this.#hasLeft) {
      end()
      return () => {}
    }
    this.#ends.add(end)
    return () => void this.#ends.delete(end)
  }

  /** Returns the value, or undefined if the reader leaves first, since the work may never settle. */
  until<T>(work: PromiseLike<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stop = this.onLeave(() => resolve(undefined))
      work.then(
        (value) => {
          stop()
          resolve(value)
        },
        (thrown) => {
          stop()
          reject(thrown)
        },
      )
    })
  }
}

/**
 * An async generator that a reader can leave at any time. `return` of an async generator waits for a pending `next`,
 * which may be forever. Here, `return` signals immediately that the reader leaves, so that the pending `next` can end.
 */
export function leavableGenerator<T>(
  generate: (leaving: Departure) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const leaving = new Departure()
  const generator = generate(leaving)
  const [back, fail] = [generator.return.bind(generator), generator.throw.bind(generator)]
  return Object.assign(generator, {
    return: (value?: void | PromiseLike<void>) => {
      leaving.leave()
      return back(value)
    },
    throw: (thrown?: unknown) => {
      leaving.leave()
      return fail(thrown)
    },
  })
}
