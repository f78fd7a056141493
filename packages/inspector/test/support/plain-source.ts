import { gradedAs } from './graded-runs.ts'
import type { SessionRow, SessionView, TranscriptPart } from '@halting/analysis/view'
import { type SessionSource } from '../../src/index.ts'

/** A session with these records and parts in its only run, and no other facts. */
export interface PlainSession {
  readonly row: SessionRow
  readonly records: readonly unknown[]
  readonly parts: readonly TranscriptPart[]
}

export function plainRow(key: string, more: Partial<SessionRow> = {}): SessionRow {
  return {
    key,
    sessionId: key,
    program: 'halting',
    title: `Session ${key}`,
    cwd: '/project',
    path: `/sessions/${key}.jsonl`,
    changedAt: 0,
    isLive: false,
    ending: 'completed',
    exitCode: 0,
    models: ['m'],
    runs: 1,
    copiedRuns: 0,
    turns: 1,
    tokens: 10,
    costUsd: 0.01,
    unpriced: [],
    activeMs: 100,
    calls: 0,
    failedCalls: 0,
    ...more,
  }
}

/** A source over sessions in memory, and the actions of a test on it. */
export interface PlainSource extends SessionSource {
  readonly sessions: Map<string, PlainSession>
  readonly listeners: Set<(keys: readonly string[]) => void>
  change(...keys: readonly string[]): void
}

export function plainSource(sessions: readonly PlainSession[] = [], title = 'a test'): PlainSource {
  const byKey = new Map(sessions.map((session) => [session.row.key, session]))
  const listeners = new Set<(keys: readonly string[]) => void>()
  return {
    title,
    sessions: byKey,
    listeners,
    async *list() {
      for (const { row } of byKey.values()) yield await Promise.resolve(row)
    },
    row: (key) => Promise.resolve(byKey.get(key)?.row),
    session: (key) => Promise.resolve(viewOf(byKey.get(key))),
    records: (key, run, from, count) => Promise.resolve(pieceOf(byKey.get(key)?.records, run, from, count)),
    parts: (key, run, from, count) => Promise.resolve(pieceOf(byKey.get(key)?.parts, run, from, count)),
    watch(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    change(...keys) {
      for (const listener of listeners) listener(keys)
    },
  }
}

function pieceOf<Value>(
  values: readonly Value[] | undefined,
  run: number,
  from: number,
  count: number,
): readonly Value[] {
  return run === 0 ? (values ?? []).slice(from, from + count) : []
}

function viewOf(session: PlainSession | undefined): SessionView | undefined {
  if (session === undefined) return undefined
  const { row, records, parts } = session
  const run = {
    runId: 'run1',
    prompt: 'go',
    isCopy: false,
    isContinued: false,
    graded: gradedAs(null),
    why: row.title,
    items: [],
    points: [],
    windows: [],
    unpriced: [],
  }
  // True where nobody asks for the figures: the test is about how they are sent.
  const figures = { account: {}, trajectory: { turns: [] } } as unknown as Pick<
    SessionView['runs'][number],
    'account' | 'trajectory'
  >
  return {
    row,
    shellArguments: row.key,
    notes: [],
    runs: [{ ...run, ...figures, records: records.length, parts: parts.length }],
  }
}
