/** Records what kills and other faults hit: how often each kind occurred, and what was running then. */
export class Hits {
  readonly #byFault = new Map<string, { times: number; readonly places: Map<string, number> }>()

  /** `places`: what the fault hit, and how often. Empty if it hit nothing. */
  add(fault: string, places: ReadonlyMap<string, number>): void {
    const hit = this.#byFault.get(fault) ?? { times: 0, places: new Map<string, number>() }
    this.#byFault.set(fault, hit)
    hit.times++
    const all: ReadonlyMap<string, number> = places.size === 0 ? new Map([['nothing', 1]]) : places
    for (const [place, count] of all) hit.places.set(place, (hit.places.get(place) ?? 0) + count)
  }

  /** A table of faults and how often they occurred, each with what it hit, the most frequent first. */
  lines(): readonly string[] {
    return [...this.#byFault].flatMap(([fault, { times, places }]) => [
      `  ${fault}: ${times}`,
      ...[...places]
        .toSorted(([, a], [, b]) => b - a)
        .map(([place, count]) => `    ${String(count).padStart(6)}  ${place}`),
    ])
  }
}
