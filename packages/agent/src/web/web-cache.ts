import type { FetchedPage } from './fetch-page.ts'

const maxAgeMs = 15 * 60_000
const maxPages = 50

/** Pages that were fetched within the last 15 minutes. */
export class WebCache {
  readonly #pages = new Map<string, { readonly at: number; readonly fetched: FetchedPage }>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get(url: string): FetchedPage | undefined {
    const page = this.#pages.get(url)
    if (page === undefined) return undefined
    if (this.#nowMs() - page.at < maxAgeMs) return page.fetched
    this.#pages.delete(url)
    return undefined
  }

  store(url: string, fetched: FetchedPage): void {
    this.#pages.delete(url)
    this.#pages.set(url, { at: this.#nowMs(), fetched })
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= maxPages) return
      this.#pages.delete(oldest)
    }
  }
}
