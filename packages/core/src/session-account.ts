import { spentOfStage, type RecordedStage, type StageReport } from './after/stage-record.ts'
import { StageIds } from './after/stage-ids.ts'
import { Ledger } from './budget/ledger.ts'
import { nanosOf, usdOf } from './budget/prices.ts'
import { addUsage } from './messages.ts'
import type { EndedRun } from './steps/fold-session.ts'
import type { ModelFigures, Terminal } from './stop/terminal.ts'

/** What the runs of a session have cost, and the ledger above theirs. */
export class SessionAccount {
  readonly ledger: Ledger
  /** Names for what comes after its runs. */
  readonly stageIds: StageIds
  #costUsd: number
  readonly #usage = new Map<string, ModelFigures>()

  /** `runs` and `stages` are those of earlier processes, each of which counts. */
  constructor(
    maxBudgetUsd: number,
    spentBeforeUsd: number,
    runs: readonly EndedRun[],
    stages: readonly RecordedStage[] = [],
  ) {
    this.ledger = Ledger.create({ nanos: nanosOf(maxBudgetUsd) })
    this.ledger.restore({ nanos: nanosOf(spentBeforeUsd), tokens: 0 })
    this.#costUsd = spentBeforeUsd
    this.stageIds = new StageIds(stages)
    for (const { terminal, spent } of runs) {
      const { nanos, unknownNanos, totalTokens } = spent
      this.ledger.restore({ nanos: nanos + unknownNanos, tokens: totalTokens }, { nanos: unknownNanos, tokens: 0 })
      this.add(terminal)
    }
    for (const stage of stages) {
      const { settled, unknown } = spentOfStage(stage)
      this.ledger.restore(settled, unknown)
      if (stage.ended !== null) this.addStage(stage.ended)
    }
  }

  /** Settled, in US dollars. */
  get costUsd(): number {
    return this.#costUsd
  }

  get usage(): { readonly [model: string]: ModelFigures } {
    return Object.fromEntries(this.#usage)
  }

  /** What a run came to; the ledger has it already. */
  add(terminal: Terminal): void {
    this.#add(terminal.costUsd, terminal.summary.modelUsage)
  }

  /** What a stage after a run came to; the ledger has it already. */
  addStage({ costUsd, modelUsage }: StageReport): void {
    this.#add(costUsd, modelUsage)
  }

  #add(ofAllUsd: number, modelUsage: { readonly [model: string]: ModelFigures }): void {
    this.#costUsd = usdOf(nanosOf(this.#costUsd) + nanosOf(ofAllUsd))
    for (const [model, { usage, costUsd }] of Object.entries(modelUsage)) {
      const before = this.#usage.get(model)
      const figures =
        before === undefined
          ? { usage, costUsd }
          : { usage: addUsage(before.usage, usage), costUsd: usdOf(nanosOf(before.costUsd) + nanosOf(costUsd)) }
      this.#usage.set(model, figures)
    }
  }
}
