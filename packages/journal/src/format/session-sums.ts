import type { StepRecord } from '@halting/core/steps'

/** Sums over the runs of a session, stored in the line of the last end, so that lists read nothing else. */
export interface SessionSums {
  /** Number of runs that began. */
  readonly runs: number
  /** Turns; a run whose counters another one continues is counted in that. */
  readonly turns: number
  /** Cost, including work after runs. */
  readonly costUsd: number
  /** Whether the conversation was ever rewound: the first prompt may have been removed. */
  readonly isRewound: boolean
}

/** Adds up the records of a session. */
export class RunSums {
  #runs = 0
  #isRewound = false
  #runId = ''
  #endedAs: string | undefined
  #stagesUsd = 0
  readonly #ended: Map<string, { readonly turns: number; readonly costUsd: number }>

  constructor(before?: RunSums) {
    if (before !== undefined) {
      this.#runs = before.#runs
      this.#isRewound = before.#isRewound
      this.#runId = before.#runId
      this.#endedAs = before.#endedAs
      this.#stagesUsd = before.#stagesUsd
    }
    this.#ended = new Map(before === undefined ? [] : before.#ended)
  }

  note(record: StepRecord): void {
    if (record.type === 'rewind') this.#isRewound = true
    else if (record.type === 'start' && record.scope === '') {
      const { runId, continues } = record.start.run
      this.#runs++
      this.#endedAs = undefined
      this.#runId = runId
      if (continues !== undefined) this.#ended.delete(continues)
    } else if (record.type === 'end' && record.scope === '') {
      this.#endedAs = record.terminal.reason
      this.#ended.set(this.#runId, { turns: record.spent.turns, costUsd: record.terminal.costUsd })
    } else if (record.type === 'stage' && record.stage.phase === 'ended') this.#stagesUsd += record.stage.costUsd
  }

  /** How the last run ended; undefined while one is running. */
  get endedAs(): string | undefined {
    return this.#endedAs
  }

  sums(): SessionSums {
    const ended = [...this.#ended.values()]
    return {
      runs: this.#runs,
      turns: ended.reduce((sum, { turns }) => sum + turns, 0),
      costUsd: ended.reduce((sum, { costUsd }) => sum + costUsd, this.#stagesUsd),
      isRewound: this.#isRewound,
    }
  }
}
