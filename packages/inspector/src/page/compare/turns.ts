import type { RunView, SessionView, TimelineItem } from '../../view/types.ts'

/** One call of a tool, as turns are compared by it. */
export interface ComparedCall {
  readonly tool: string
  /** The tool with what it was asked, one line. */
  readonly label: string
  readonly status: string
}

/** One turn of a run, with its own figures and the sums so far. */
export interface ComparedTurn {
  /** Counts from 1. */
  readonly run: number
  readonly turn: number
  readonly request: number
  readonly model: string
  readonly calls: readonly ComparedCall[]
  readonly isCompacted: boolean
  /** Since the reply before it: what subagents of the turn before cost is in it. */
  readonly tokens: number
  readonly costUsd: number
  readonly ms: number
  readonly soFar: { readonly tokens: number; readonly costUsd: number; readonly ms: number }
}

/** The turns of the chosen runs one after another; of all where none is chosen. Sums go on from run to run. */
export function turnsOf(view: SessionView, chosen: number | undefined): readonly ComparedTurn[] {
  const turns: ComparedTurn[] = []
  for (const [index, run] of view.runs.entries()) {
    if (chosen !== undefined && chosen !== index + 1) continue
    const before = turns.at(-1)?.soFar ?? { tokens: 0, costUsd: 0, ms: 0 }
    turns.push(...turnsOfRun(run, index + 1, before))
  }
  return turns
}

function turnsOfRun(
  { points, items, account }: RunView,
  run: number,
  before: ComparedTurn['soFar'],
): readonly ComparedTurn[] {
  const calls = callsByRequest(items)
  // A run that goes on where one stopped carries its figures over.
  let tokens = account.carried.tokens
  let settledUsd = account.carried.costUsd
  let { ms } = before
  return points.map((point) => {
    const own = {
      tokens: Math.max(0, point.tokens - tokens),
      costUsd: exactly(Math.max(0, point.settledUsd - settledUsd)),
      ms: Object.values(point.ms).reduce((sum, each) => sum + each, 0),
    }
    tokens = Math.max(tokens, point.tokens)
    settledUsd = Math.max(settledUsd, point.settledUsd)
    ms += own.ms
    return {
      run,
      turn: point.turn,
      request: point.request,
      model: point.model,
      calls: calls.get(point.request) ?? [],
      isCompacted: point.isCompacted,
      ...own,
      soFar: {
        tokens: before.tokens + tokens - account.carried.tokens,
        costUsd: exactly(before.costUsd + settledUsd - account.carried.costUsd),
        ms,
      },
    }
  })
}

/** Dollars are billionths: what binary fractions add is left out. */
function exactly(usd: number): number {
  return Math.round(usd * 1e9) / 1e9
}

/** Calls of the main loop; those of subagents belong to the call that began them. */
function callsByRequest(items: readonly TimelineItem[]): ReadonlyMap<number, readonly ComparedCall[]> {
  const calls = new Map<number, ComparedCall[]>()
  for (const { kind, scope, request, label, status } of items) {
    if (kind !== 'tool' || scope !== '') continue
    const ofRequest = calls.get(request) ?? []
    ofRequest.push({ tool: toolIn(label), label, status })
    calls.set(request, ofRequest)
  }
  return calls
}

/** The first word of what a call is told by. */
function toolIn(label: string): string {
  return /^[^\s(:]+/.exec(label)?.[0] ?? label
}
