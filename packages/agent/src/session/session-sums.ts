import type { StepRecord } from '@halting/core/steps'

/** What the runs of a session come to, as the line of the last end tells it: a list of sessions reads no more than that. */
export interface SessionSums {
  /** All that began. */
  readonly runs: number
  /** A run whose counters another one carries is counted within that one. */
  readonly turns: number
  readonly costUsd: number
  /** The conversation went back at some time: what was said first may have been taken back. */
  readonly isRewound: boolean
}

/** Adds up the records of a session. */
export class RunSums {
  #runs = 0
  #isRewound = false
  #runId = ''
  readonly #ended: Map<string, { readonly turns: number; readonly costUsd: number }>

  constructor(before?: RunSums) {
    if (before !== undefined) {
      this.#runs = before.#runs
      this.#isRewound = before.#isRewound
      this.#runId = before.#runId
    }
    this.#ended = new Map(before === undefined ? [] : before.#ended)
  }

  note(record: StepRecord): void {
    if (record.type === 'rewind') this.#isRewound = true
    else if (record.type === 'start' && record.scope === '') {
      const { runId, continues } = record.start.run
      this.#runs++
      this.#runId = runId
      if (continues !== undefined) this.#ended.delete(continues)
    } else if (record.type === 'end' && record.scope === '')
      this.#ended.set(this.#runId, { turns: record.spent.turns, costUsd: record.terminal.costUsd })
  }

  sums(): SessionSums {
    const ended = [...this.#ended.values()]
    return {
      runs: this.#runs,
      turns: ended.reduce((sum, { turns }) => sum + turns, 0),
      costUsd: ended.reduce((sum, { costUsd }) => sum + costUsd, 0),
      isRewound: this.#isRewound,
    }
  }
}
