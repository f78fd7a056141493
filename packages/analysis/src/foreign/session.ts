import type { ForeignRun } from './foreign-run.ts'

/** Programs whose sessions are read. */
export type ForeignProgram = 'claude-code' | 'codex'

/** Names of the other programs whose sessions can be read, for people. */
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
  /** Where it worked, if that is told. */
  readonly cwd: string | undefined
  /** Path of the file. */
  readonly path: string
  /** Its runs, in order. */
  readonly runs: readonly ForeignRun[]
  /** What the program itself has counted, in dollars. */
  readonly recordedUsd: number | undefined
  /** What of the file was not read. */
  readonly skipped: Skipped
}

/** What was passed over. */
export interface Skipped {
  /** Lines of kinds that are not known. */
  readonly unknown: number
  /** Their kinds, each once. */
  readonly kinds: readonly string[]
  /** Lines that are no JSON. */
  readonly damaged: number
  /** Lines that are too long to be read: the first of them. */
  readonly tooLong: readonly LongLine[]
  /** Lines that stand in a file that was read before, too: a session that was gone on with begins with them. */
  readonly copied: number
  /** Results without a call. */
  readonly strayResults: number
  /** Requests without figures: their tokens and dollars are not in any sum. */
  readonly withoutFigures: number
}

/** A line of more bytes than one is read of. */
export interface LongLine {
  /** Path of the file. */
  readonly file: string
  /** Number of the line, from 1. */
  readonly line: number
}

/** `all` for what it cost; `newest_branch` for what the model is shown when it goes on. */
export type ForeignPart = 'all' | 'newest_branch'

const mostNamed = 20

/** Counts what is passed over. */
export class SkipCount {
  #unknown = 0
  #damaged = 0
  #copied = 0
  readonly #kinds = new Set<string>()
  readonly #tooLong: LongLine[] = []

  unknown(kind: string): void {
    this.#unknown++
    if (this.#kinds.size < mostNamed) this.#kinds.add(kind.slice(0, 60))
  }

  damaged(): void {
    this.#damaged++
  }

  tooLong(file: string, lines: readonly number[]): void {
    for (const line of lines) if (this.#tooLong.length < mostNamed) this.#tooLong.push({ file, line })
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
