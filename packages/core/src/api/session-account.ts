import { spentOfStage, type RecordedStage, type StageReport } from '../steps/stage-record.ts'
import { addAmounts, type Ledger } from '../limits/ledger.ts'
import { nanosOf, usdOf } from '../model/prices.ts'
import { addUsage } from '../model/messages.ts'
import { sessionLedger } from './options.ts'
import type { RunSettings } from '../run/run-context.ts'
import { foldRun, type LedgerSoFar } from '../steps/fold.ts'
import { countedRuns, type EndedRun, type FoldedSession, foldSession } from '../steps/fold-session.ts'
import type { ModelFigures, RunResult } from '../endings/run-result.ts'
import { startOfRecord } from '../steps/check-records.ts'
import type { StepRecord } from '../steps/step-record.ts'
import { StopSignal } from '../endings/signal.ts'
import { StopSignals } from '../endings/signals.ts'
import { uuidOf } from '../values/hash.ts'
import { resultMessage } from '../sdk/result-message.ts'
import type { SdkResult } from '../sdk/sdk-messages.ts'

/** The cost of the runs of a session, and its ledger. */
export class SessionAccount {
  readonly ledger: Ledger
  /** Names for stages after its runs. */
  readonly stageIds: StageIds
  /** The last run, which is not in the sums yet. A run that continues it includes its figures. */
  #last: RunResult | undefined
  #costUsd: number
  readonly #usage = new Map<string, ModelFigures>()

  /** `runs` and `stages` are those of earlier processes. All of them count. */
  constructor(
    limits: Pick<RunSettings, 'lease' | 'budget' | 'standing' | 'maxBudgetUsd'>,
    spentBeforeUsd: number,
    runs: readonly EndedRun[],
    stages: readonly RecordedStage[] = [],
  ) {
    this.ledger = sessionLedger(limits)
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

  /** Settled cost, in US dollars. */
  get costUsd(): number {
    return usdOf(nanosOf(this.#costUsd) + nanosOf(this.#last?.costUsd ?? 0))
  }

  /** Whether the settled cost has reached the dollar limit. */
  get isSpent(): boolean {
    const { nanos } = this.ledger.limits
    return nanos !== Infinity && this.ledger.figures().settled.nanos >= nanos
  }

  get usage(): { readonly [model: string]: ModelFigures } {
    const usage = new Map(this.#usage)
    if (this.#last !== undefined) addModels(usage, this.#last.summary.modelUsage)
    return Object.fromEntries(usage)
  }

  /** Sets the limit for later spending. Earlier spending is not changed, even if it exceeds the limit. */
  limit({ maxBudgetUsd }: { readonly maxBudgetUsd: number }): void {
    this.ledger.setLimits({ nanos: nanosOf(maxBudgetUsd) })
  }

  /** Adds the cost of a run, which the ledger already includes. */
  add(terminal: RunResult): void {
    if (this.#last !== undefined) this.#add(this.#last.costUsd, this.#last.summary.modelUsage)
    this.#last = terminal
  }

  /** Removes the last run, because another run continues it and includes its cost. */
  removeLast({ nanos, unknownNanos, totalTokens }: EndedRun['spent']): void {
    this.#last = undefined
    this.ledger.subtract({ nanos: nanos + unknownNanos, tokens: totalTokens }, { nanos: unknownNanos, tokens: 0 })
  }

  /** Adds the cost of a stage after a run, which the ledger already includes. */
  addStage({ costUsd, modelUsage }: StageReport): void {
    this.#add(costUsd, modelUsage)
  }

  #add(usd: number, modelUsage: { readonly [model: string]: ModelFigures }): void {
    this.#costUsd = usdOf(nanosOf(this.#costUsd) + nanosOf(usd))
    addModels(this.#usage, modelUsage)
  }
}

/** The account of the recorded runs and stages that ended. It has no limits. */
function recordedAccount(session: FoldedSession): SessionAccount {
  return new SessionAccount(
    { lease: null, budget: null, standing: null, maxBudgetUsd: Infinity },
    0,
    countedRuns(session),
    session.stages,
  )
}

/** The recorded cost of a session, including its open run. Requests in progress count at their worst case. */
export function recordedSpending(session: FoldedSession): LedgerSoFar {
  const { settled, unknown } = recordedAccount(session).ledger.figures()
  if (session.open === undefined) return { settled, unknown }
  const { spent } = foldRun(session.open)
  return { settled: addAmounts(settled, spent.settled), unknown: addAmounts(unknown, spent.unknown) }
}

/** The committed cost of a session in nano-dollars, without its open run. */
export function committedNanos(session: FoldedSession): number {
  return recordedAccount(session).ledger.figures().settled.nanos
}

function addModels(to: Map<string, ModelFigures>, modelUsage: { readonly [model: string]: ModelFigures }): void {
  for (const [model, { usage, costUsd }] of Object.entries(modelUsage)) {
    const before = to.get(model)
    const figures =
      before === undefined
        ? { usage, costUsd }
        : { usage: addUsage(before.usage, usage), costUsd: usdOf(nanosOf(before.costUsd) + nanosOf(costUsd)) }
    to.set(model, figures)
  }
}

/** Unique names for the stages of a session. */
export class StageIds {
  readonly #taken: Set<string>

  constructor(recorded: readonly RecordedStage[] = []) {
    this.#taken = new Set(recorded.map(({ id }) => id))
  }

  /** The name, with a number if it was used before. */
  next(name: string): string {
    let id = name
    for (let count = 2; this.#taken.has(id); count++) id = `${name}.${count}`
    this.#taken.add(id)
    return id
  }
}

/**
 * The result message of the last of these runs, for a caller that only has its records. Records do not contain denials
 * or the context windows of models, so the message omits both. Undefined if that run did not end.
 * @throws ConfigurationError for anything but records of runs.
 */
export function recordedResult(sessionId: string, runs: readonly (readonly StepRecord[])[]): SdkResult | undefined {
  const folded = foldSession(runs)
  const last = folded.ended.at(-1)
  if (last === undefined || folded.open !== undefined) return undefined
  const { terminal: stored, spent, runId } = last
  const terminal = {
    ...stored,
    signal: StopSignal.fromJSON(stored.signal),
    signals: StopSignals.fromJSON(stored.signals),
  }
  const account = recordedAccount(folded)
  const { history = 0 } = startOfRecord(runs.at(-1) ?? []).start
  const startLength = foldSession(runs.slice(0, -1)).transcript.length + history
  return resultMessage({
    uuid: uuidOf(`${sessionId}/${runId}/result`),
    sessionId,
    terminal,
    state: { transcript: folded.transcript, startLength, spent },
    denials: [],
    sessionCostUsd: account.costUsd,
    sessionUsage: account.usage,
    models: [],
    contextWindow: null,
    output: undefined,
  })
}
