/** Decides when a waiting session gets its place. */
export interface QueuedPlace {
  /** Group of the session, such as its tenant: groups take turns. */
  readonly group: string
  /** When the work of the session arose, in milliseconds since 1970. Within a group the oldest is next. */
  readonly sinceMs: number
}

/**
 * The order in which waiting sessions get places.
 * Q1: groups take turns, one place each, however many sessions they have; a new group goes to the end.
 * Q2: within a group, the session that has waited longest is next; among equals, the one added first.
 * Q3: each entry leaves once.
 */
export class PlaceQueue<T extends QueuedPlace> implements Iterable<T> {
  /** A map iterates in insertion order: the first group is next. */
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

  /** Removes and returns the next entry. */
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

  /** Returns false if it is not in the queue. */
  remove(entry: T): boolean {
    const group = this.#groups.get(entry.group)
    const place = group?.indexOf(entry) ?? -1
    if (group === undefined || place < 0) return false
    group.splice(place, 1)
    if (group.length === 0) this.#groups.delete(entry.group)
    this.#size--
    return true
  }

  /** All entries, group by group. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const group of this.#groups.values()) yield* group
  }
}
