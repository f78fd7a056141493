import type { ForeignRun } from './foreign-run.ts'

/** Programs whose sessions can be read. */
export type ForeignProgram = 'claude-code' | 'codex'

/** Display names of these programs. */
export const programNames: { readonly [program in ForeignProgram]: string } = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
}

/** A session that another program recorded. */
export interface ForeignSession {
  /** Which program recorded it. */
  readonly program: ForeignProgram
  /** Id of the session. */
  readonly sessionId: string
  /** Its working directory, if recorded. */
  readonly cwd: string | undefined
  /** Path of the file. */
  readonly path: string
  /** Its runs, in order. */
  readonly runs: readonly ForeignRun[]
  /** The cost that the program itself recorded, in US dollars. */
  readonly recordedUsd: number | undefined
  /** What was skipped in the file. */
  readonly skipped: Skipped
}

/** What was skipped in a file. */
export interface Skipped {
  /** Lines of unknown types. */
  readonly unknown: number
  /** Their types, without duplicates. */
  readonly kinds: readonly string[]
  /** Lines that are not JSON. */
  readonly damaged: number
  /** The first lines that were too long to read. */
  readonly tooLong: readonly LongLine[]
  /** Lines that another file, which was read before, also contains: a continued session begins with a copy. */
  readonly copied: number
  /** Results without a call. */
  readonly strayResults: number
  /** Requests without usage: no sum includes their tokens and dollars. */
  readonly withoutFigures: number
}

/** A line that exceeds the longest one that is read. */
export interface LongLine {
  /** Path of the file. */
  readonly file: string
  /** Number of the line, from 1. */
  readonly line: number
}

/** `all`: everything that cost something. `newest_branch`: what the model would see when the session continues. */
export type ForeignPart = 'all' | 'newest_branch'

const maxNamed = 20

/** Counts skipped lines. */
export class SkipCount {
  #unknown = 0
  #damaged = 0
  #copied = 0
  readonly #kinds = new Set<string>()
  readonly #tooLong: LongLine[] = []

  unknown(kind: string): void {
    this.#unknown++
    if (this.#kinds.size < maxNamed) this.#kinds.add(kind.slice(0, 60))
  }

  damaged(): void {
    this.#damaged++
  }

  tooLong(file: string, lines: readonly number[]): void {
    for (const line of lines) if (this.#tooLong.length < maxNamed) this.#tooLong.push({ file, line })
  }

  copied(): void {
    this.#copied++
  }

  with(counts: Pick<Skipped, 'strayResults' | 'withoutFigures'>): Skipped {
    return {
      unknown: this.#unknown,
      kinds: [...this.#kinds],
      damaged: this.#damaged,
      tooLong: this.#tooLong,
      copied: this.#copied,
      ...counts,
    }
  }
}
