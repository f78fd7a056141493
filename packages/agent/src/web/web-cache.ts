import type { ToolOutput } from '@halting/core'

const mostAgeMs = 15 * 60_000
const mostPages = 50

/** Pages that were fetched within the last 15 minutes. */
export class WebCache {
  readonly #pages = new Map<string, { readonly at: number; readonly output: ToolOutput }>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get(url: string): ToolOutput | undefined {
    const page = this.#pages.get(url)
    if (page === undefined) return undefined
    if (this.#nowMs() - page.at < mostAgeMs) return page.output
    this.#pages.delete(url)
    return undefined
  }

  keep(url: string, output: ToolOutput): void {
    this.#pages.delete(url)
    this.#pages.set(url, { at: this.#nowMs(), output })
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= mostPages) return
      this.#pages.delete(oldest)
    }
  }
}
