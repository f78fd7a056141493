import { gradedAs } from '../../support/graded-runs.ts'
import type { Account, Trajectory } from '@halting/analysis'
import type { RunView, SessionView, TurnCall, TurnPoint } from '@halting/analysis/view'
import { rowWith } from './rows.ts'

/** A turn in test notation: its calls, as `Bash npm test`, or `Bash npm test!` for a failed call. */
export interface TestTurn {
  readonly calls: readonly string[]
  readonly model?: string
  readonly costUsd?: number
  readonly isCompacted?: boolean
}

const noContext = { fixed: 0, person: 0, answers: 0, thinking: 0, calls: 0, results: 0, summaries: 0, other: 0 }

/** A run of these turns. By default each costs a cent, a hundred tokens and a second. */
export function runWith(turns: readonly TestTurn[], ending: string | null = 'completed', carriedUsd = 0): RunView {
  let settledUsd = carriedUsd
  const points = turns.map(
    ({ calls, model = 'claude-sonnet-5', costUsd = 0.01, isCompacted = false }, index): TurnPoint => {
      settledUsd += costUsd
      return {
        request: index + 1,
        turn: index + 1,
        atMs: (index + 1) * 1_000,
        model,
        context: noContext,
        usage: { input: 50, cacheRead: 0, cacheWrite: 0, output: 50 },
        settledUsd,
        reservedUsd: null,
        tokens: (index + 1) * 100,
        ms: { model: 600, tools: 300, hooks: 0, checks: 0, compaction: 0, waiting: 0, other: 100 },
        isCompacted,
        turnsLeft: null,
        allowancesLeft: {},
        calls: calls.map(callOf),
      }
    },
  )
  const totals = {
    turns: turns.length,
    requests: turns.length,
    tokens: turns.length * 100,
    costUsd: settledUsd,
    committedUsd: settledUsd,
    activeMs: turns.length * 1_000,
  }
  // The page reads only these fields of an account where it compares.
  const account = {
    ending: ending === null ? null : { reason: ending },
    totals,
    carried: { turns: 0, tokens: 0, costUsd: carriedUsd, activeMs: 0 },
  } as unknown as Account
  return {
    runId: 'run',
    prompt: 'Do it',
    isCopy: false,
    isContinued: false,
    graded: gradedAs(null),
    why: 'because',
    account,
    // Never read here.
    trajectory: {} as Trajectory,
    items: [],
    points,
    records: 0,
    parts: 0,
    windows: [],
    unpriced: [],
  }
}

/** In test notation, `Write x #2` gives the call another input with the same label. */
function callOf(text: string): TurnCall {
  const [label = '', more = ''] = text.replace(/!$/, '').split(' #')
  const status = text.endsWith('!') ? 'failed' : 'done'
  return { tool: label.split(' ')[0] ?? '', label, inputDigest: `${label}#${more}`, status }
}

export function viewWith(key: string, runs: readonly RunView[]): SessionView {
  return { row: rowWith({ key, runs: runs.length }), shellArguments: key, notes: [], runs }
}
