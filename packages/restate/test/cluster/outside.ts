import { closeSync, openSync, readSync } from 'node:fs'

/** What the sessions of all workers did outside, as the workers' log tells: it stays when they are killed. */
export class OutsideLog {
  readonly #file: number
  #rest = ''
  readonly #paid = new Map<string, string[]>()
  readonly #asks = new Map<string, Set<string>>()
  readonly #billedUsd = new Map<string, number>()
  readonly #ends = new Map<string, number>()

  constructor(path: string) {
    closeSync(openSync(path, 'a'))
    this.#file = openSync(path, 'r')
  }

  /** Reads what came since. */
  read(): void {
    const buffer = Buffer.alloc(1 << 16)
    for (let size = readSync(this.#file, buffer); size > 0; size = readSync(this.#file, buffer))
      this.#rest += buffer.toString('utf8', 0, size)
    const lines = this.#rest.split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const [what, session = '', more = ''] = line.split(' ')
      if (what === 'paid') this.#paid.set(session, [...(this.#paid.get(session) ?? []), more])
      else if (what === 'asks') this.#asks.set(session, (this.#asks.get(session) ?? new Set()).add(more))
      else if (what === 'billed') this.#billedUsd.set(session, (this.#billedUsd.get(session) ?? 0) + Number(more))
      else if (what === 'ended') this.#ends.set(session, (this.#ends.get(session) ?? 0) + 1)
    }
  }

  /** Calls that took effect, as often as they did. */
  paid(session: string): readonly string[] {
    return this.#paid.get(session) ?? []
  }

  /** Calls that somebody was asked about. */
  asks(session: string): readonly string[] {
    return [...(this.#asks.get(session) ?? [])]
  }

  billedUsd(session: string): number {
    return this.#billedUsd.get(session) ?? 0
  }

  /** How often a process told that a run ended. */
  ends(session: string): number {
    return this.#ends.get(session) ?? 0
  }

  close(): void {
    closeSync(this.#file)
  }
}
