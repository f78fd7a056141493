import type { ForeignRun } from '@halting/core/steps'

/** Programs whose sessions are read. */
export type ForeignProgram = 'claude-code' | 'codex'

export const programNames: { readonly [program in ForeignProgram]: string } = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
}

/** A session that another program recorded. */
export interface ForeignSession {
  readonly program: ForeignProgram
  readonly sessionId: string
  /** Where it worked, if that is told. */
  readonly cwd: string | undefined
  readonly path: string
  readonly runs: readonly ForeignRun[]
  /** What the program itself has counted, in dollars. */
  readonly recordedUsd: number | undefined
  readonly skipped: Skipped
}

/** What was passed over. */
export interface Skipped {
  /** Lines of kinds that are not known. */
  readonly unknown: number
  /** Their kinds, each once. */
  readonly kinds: readonly string[]
  /** Lines that are no JSON, or too long. */
  readonly damaged: number
  /** Lines that stand in a file that was read before, too: a session that was gone on with begins with them. */
  readonly copied: number
  /** Results of calls that nobody made. */
  readonly strayResults: number
  /** Requests without figures: their tokens and dollars are not in any sum. */
  readonly withoutFigures: number
}

/** `all` for what it cost; `newest_branch` for what the model is shown when it goes on. */
export type ForeignPart = 'all' | 'newest_branch'

const mostKinds = 20

/** Counts what is passed over. */
export class SkipCount {
  #unknown = 0
  #damaged = 0
  #copied = 0
  readonly #kinds = new Set<string>()

  unknown(kind: string): void {
    this.#unknown++
    if (this.#kinds.size < mostKinds) this.#kinds.add(kind.slice(0, 60))
  }

  damaged(count = 1): void {
    this.#damaged += count
  }

  copied(): void {
    this.#copied++
  }

  with(counts: Pick<Skipped, 'strayResults' | 'withoutFigures'>): Skipped {
    return { unknown: this.#unknown, kinds: [...this.#kinds], damaged: this.#damaged, copied: this.#copied, ...counts }
  }
}
