import type { SessionRow } from '@halting/analysis/view'

/**
 * The rows of the list, in the order in which they came. It is read as a whole, which takes a while, and told of changes, also meanwhile: what was told is newer
 * than what is still read.
 */
export class RowList {
  readonly #rows = new Map<string, SessionRow>()
  /** While the list is read: the keys that it had so far, and those of which a change was told. */
  #reading: { readonly read: Set<string>; readonly told: Set<string> } | undefined

  get all(): readonly SessionRow[] {
    return [...this.#rows.values()]
  }

  /** From here on the list is read. */
  begin(): void {
    this.#reading = { read: new Set(), told: new Set() }
  }

  /** Rows of the list that is read. */
  take(rows: readonly SessionRow[]): void {
    for (const row of rows) {
      this.#reading?.read.add(row.key)
      if (this.#reading?.told.has(row.key) !== true) this.#rows.set(row.key, row)
    }
  }

  /** All of it was read: what it does not have is not there. */
  end(): void {
    const reading = this.#reading
    this.#reading = undefined
    if (reading === undefined) return
    for (const key of this.#rows.keys()) if (!reading.read.has(key) && !reading.told.has(key)) this.#rows.delete(key)
  }

  /** It could not be read to its end. */
  giveUp(): void {
    this.#reading = undefined
  }

  change(rows: readonly SessionRow[], gone: readonly string[]): void {
    for (const row of rows) {
      this.#reading?.told.add(row.key)
      this.#rows.set(row.key, row)
    }
    for (const key of gone) {
      this.#reading?.told.add(key)
      this.#rows.delete(key)
    }
  }
}
