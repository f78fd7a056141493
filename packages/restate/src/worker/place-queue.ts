/** What decides when a waiting session gets its place. */
export interface QueuedPlace {
  /** Whose session it is: groups take turns. */
  readonly group: string
  /** Since when the session has had this work, in milliseconds since 1970. Within a group the oldest is next. */
  readonly sinceMs: number
}

/**
 * The order in which sessions that wait get places.
 * Q1: groups take turns, one place each, whatever the number of their sessions; a group that comes is behind those that are there. Q2: within a group the session that
 * has waited longest is next, and of equal ones the one that came first. Q3: each entry leaves once.
 */
export class PlaceQueue<T extends QueuedPlace> implements Iterable<T> {
  /** A map has its keys in the order in which they were set: the first group is next. */
  readonly #groups = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(entry: T): void {
    this.#size++
    const group = this.#groups.get(entry.group)
    if (group === undefined) return void this.#groups.set(entry.group, [entry])
    let place = group.length
    while (place > 0 && (group[place - 1]?.sinceMs ?? 0) > entry.sinceMs) place--
    group.splice(place, 0, entry)
  }

  /** Takes out the one that is next. */
  next(): T | undefined {
    for (const [name, group] of this.#groups) {
      const entry = group.shift()
      this.#groups.delete(name)
      if (group.length > 0) this.#groups.set(name, group)
      if (entry !== undefined) this.#size--
      return entry
    }
    return undefined
  }

  /** False where it is not there. */
  remove(entry: T): boolean {
    const group = this.#groups.get(entry.group)
    const place = group?.indexOf(entry) ?? -1
    if (group === undefined || place < 0) return false
    group.splice(place, 1)
    if (group.length === 0) this.#groups.delete(entry.group)
    this.#size--
    return true
  }

  /** Those that wait, group by group. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const group of this.#groups.values()) yield* group
  }
}
