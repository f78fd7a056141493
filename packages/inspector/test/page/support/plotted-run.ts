import { gradedAs } from '../../support/graded-runs.ts'
import type { Account, PastTurn, Trajectory } from '@halting/analysis'
import type { RunView, SessionView, TurnPoint } from '@halting/analysis/view'
import { rowWith } from './rows.ts'

export const noContext = { fixed: 0, person: 0, answers: 0, thinking: 0, calls: 0, results: 0, summaries: 0, other: 0 }
export const noMs = { model: 0, tools: 0, hooks: 0, checks: 0, compaction: 0, waiting: 0, other: 0 }

/** The figures of a request; missing ones are zero. */
export function pointWith(given: Partial<TurnPoint> & { readonly request: number }): TurnPoint {
  return {
    turn: given.request,
    atMs: given.request * 1_000,
    model: 'm',
    context: noContext,
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    settledUsd: 0,
    reservedUsd: null,
    tokens: 0,
    ms: noMs,
    isCompacted: false,
    turnsLeft: null,
    allowancesLeft: {},
    calls: [],
    ...given,
  }
}

/** A turn of one second, 100 tokens and a tenth of a dollar that calls these tools. */
export function pastTurn(index: number, tools: readonly string[] = [], more: Partial<PastTurn> = {}): PastTurn {
  const endMs = (index + 1) * 1_000
  return {
    countsAsTurn: true,
    isTold: true,
    payments: [
      {
        model: 'm',
        beganMs: endMs - 1_000,
        endMs: endMs - 500,
        tokens: 100,
        nanos: 100_000_000,
        isAtWorst: false,
        of: 'run',
        outputTokens: 10,
        // As if the cost of requests were known in advance.
        bounds: {
          least: { tokens: 100, nanos: 100_000_000 },
          most: { tokens: 100, nanos: 100_000_000 },
          usefulTokens: 10,
          capTokens: 10,
        },
      },
    ],
    calls: tools.map((tool) => ({ tool, input: null, hasRun: true, endMs })),
    endMs,
    hash: null,
    isFreshAfter: false,
    agentTurns: 0,
    ...more,
  }
}

export function trajectoryWith(turns: readonly PastTurn[], more: Partial<Trajectory> = {}): Trajectory {
  return {
    turns,
    ending: { reason: 'completed', limit: null, hasAnswer: true },
    limits: {
      maxTurns: null,
      maxBudgetUsd: null,
      maxRunUsd: null,
      maxTotalTokens: null,
      maxDurationMs: null,
      spentBeforeUsd: 0,
    },
    carried: { turns: 0, tokens: 0, nanos: 0, ms: 0 },
    ...more,
  }
}

export function plottedRun(given: {
  readonly points?: readonly TurnPoint[]
  readonly phases?: readonly { readonly phase: string; readonly ms: number }[]
  readonly trajectory?: Trajectory
  readonly windows?: RunView['windows']
  readonly unpriced?: readonly string[]
}): RunView {
  const totals = { turns: 0, requests: 0, tokens: 0, costUsd: 0, committedUsd: 0, activeMs: 0 }
  // Plots read only the phases of an account and these other fields.
  const account = {
    ending: null,
    phases: given.phases ?? [],
    limits: [],
    totals,
    carried: totals,
  } as unknown as Account
  return {
    runId: 'run1',
    prompt: 'go',
    isCopy: false,
    isContinued: false,
    graded: gradedAs(null),
    why: 'because',
    account,
    trajectory: given.trajectory ?? trajectoryWith([]),
    items: [],
    points: given.points ?? [],
    records: 0,
    parts: 0,
    windows: given.windows ?? [],
    unpriced: given.unpriced ?? [],
  }
}

export function plottedView(run: RunView, key = 'one'): SessionView {
  return { row: rowWith({ key, unpriced: run.unpriced }), shellArguments: key, notes: [], runs: [run] }
}
