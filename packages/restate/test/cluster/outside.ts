import { closeSync, openSync, readSync } from 'node:fs'

/** Side effects of the sessions of all workers, from the workers' log, which survives their death. */
export class OutsideLog {
  readonly #file: number
  #rest = ''
  readonly #paid = new Map<string, string[]>()
  readonly #asks = new Map<string, Set<string>>()
  readonly #billedUsd = new Map<string, number>()
  readonly #ends = new Map<string, number>()
  /** What each process is doing at this moment, by kind. */
  readonly #underWay = new Map<string, Map<string, number>>()

  constructor(path: string) {
    closeSync(openSync(path, 'a'))
    this.#file = openSync(path, 'r')
  }

  /** Reads the new lines. */
  read(): void {
    const buffer = Buffer.alloc(1 << 16)
    const chunks: Buffer[] = []
    for (let size = readSync(this.#file, buffer); size > 0; size = readSync(this.#file, buffer))
      chunks.push(Buffer.from(buffer.subarray(0, size)))
    // Each line is ASCII.
    const lines = (this.#rest + Buffer.concat(chunks).toString('latin1')).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line)
  }

  #take(line: string): void {
    const [what, session = '', more = ''] = line.split(' ')
    if (what === 'paid') this.#paid.set(session, [...(this.#paid.get(session) ?? []), more])
    else if (what === 'asks') this.#asks.set(session, (this.#asks.get(session) ?? new Set()).add(more))
    else if (what === 'billed') this.#billedUsd.set(session, (this.#billedUsd.get(session) ?? 0) + Number(more))
    else if (what === 'ended') this.#ends.set(session, (this.#ends.get(session) ?? 0) + 1)
    else if (what === 'in' || what === 'out') this.#countRunning(session, more, what === 'in' ? 1 : -1)
  }

  #countRunning(process: string, kind: string, by: number): void {
    const kinds = this.#underWay.get(process) ?? new Map<string, number>()
    this.#underWay.set(process, kinds)
    const count = (kinds.get(kind) ?? 0) + by
    if (count > 0) kinds.set(kind, count)
    else kinds.delete(kind)
  }

  /** What these processes have begun and not ended, or were doing when they were killed. */
  underWay(processes: readonly (number | undefined)[]): ReadonlyMap<string, number> {
    const sum = new Map<string, number>()
    for (const process of processes)
      for (const [kind, count] of this.#underWay.get(String(process)) ?? []) sum.set(kind, (sum.get(kind) ?? 0) + count)
    return sum
  }

  /** Calls that took effect, once for each time. */
  paid(session: string): readonly string[] {
    return this.#paid.get(session) ?? []
  }

  /** Calls for which permission was requested. */
  asks(session: string): readonly string[] {
    return [...(this.#asks.get(session) ?? [])]
  }

  billedUsd(session: string): number {
    return this.#billedUsd.get(session) ?? 0
  }

  /** How often a process reported the end of a run. */
  ends(session: string): number {
    return this.#ends.get(session) ?? 0
  }

  close(): void {
    closeSync(this.#file)
  }
}
