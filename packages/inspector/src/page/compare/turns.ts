import type { RunView, SessionView, TurnCall } from '@halting/analysis/view'

/** One turn of a run with its figures and the sums so far. */
export interface ComparedTurn {
  /** Number of the run, from 1. */
  readonly run: number
  readonly turn: number
  readonly request: number
  readonly model: string
  readonly calls: readonly TurnCall[]
  readonly isCompacted: boolean
  /** Figures of this turn, including its subagents. */
  readonly tokens: number
  readonly costUsd: number
  readonly ms: number
  readonly soFar: { readonly tokens: number; readonly costUsd: number; readonly ms: number }
}

/** The turns of the selected runs, or of all runs, one after another. Sums continue from run to run. */
export function turnsOf(view: SessionView, chosen: number | undefined): readonly ComparedTurn[] {
  const turns: ComparedTurn[] = []
  for (const [index, run] of view.runs.entries()) {
    if (chosen !== undefined && chosen !== index + 1) continue
    const before = turns.at(-1)?.soFar ?? { tokens: 0, costUsd: 0, ms: 0 }
    for (const turn of turnsOfRun(run, index + 1, before)) turns.push(turn)
  }
  return turns
}

function turnsOfRun(
  { points, account: { carried } }: RunView,
  run: number,
  before: ComparedTurn['soFar'],
): readonly ComparedTurn[] {
  // Sums of points include what the run carried over.
  let { tokens, costUsd: settledUsd } = carried
  let { ms } = before
  return points.map(({ turn, request, model, calls, isCompacted, ...point }) => {
    const own = {
      tokens: Math.max(0, point.tokens - tokens),
      costUsd: exactly(Math.max(0, point.settledUsd - settledUsd)),
      ms: Object.values(point.ms).reduce((sum, each) => sum + each, 0),
    }
    tokens = Math.max(tokens, point.tokens)
    settledUsd = Math.max(settledUsd, point.settledUsd)
    ms += own.ms
    const soFar = {
      tokens: before.tokens + tokens - carried.tokens,
      costUsd: exactly(before.costUsd + settledUsd - carried.costUsd),
      ms,
    }
    return { run, turn, request, model, calls, isCompacted, ...own, soFar }
  })
}

/** Rounds dollars to billionths, to remove floating-point errors. */
function exactly(usd: number): number {
  return Math.round(usd * 1e9) / 1e9
}
