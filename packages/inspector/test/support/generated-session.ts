import { gradedAs } from './graded-runs.ts'
import type { Account, Trajectory } from '@halting/analysis'
import { StopCategory } from '@halting/core'
import { type SessionSource } from '../../src/index.ts'
import type { ItemKind, RunView, SessionView, TimelineItem, TranscriptPart } from '@halting/analysis/view'
import { plainRow } from './plain-source.ts'

/** The shape of a generated session for tests of the page. `say` makes each of its texts. */
export interface GeneratedSession {
  readonly view: SessionView
  /** By run. */
  readonly records: readonly (readonly unknown[])[]
  readonly parts: readonly (readonly TranscriptPart[])[]
}

export interface GeneratedOptions {
  readonly key?: string
  readonly runs?: number
  /** For each run: a turn has an attempt, two parallel tools, a hook, and every fifth turn an agent. */
  readonly turns?: number
  readonly say?: (what: string) => string
}

/** A session without a model, generated at once with any number of turns. A turn takes 100 ms. */
export function generatedSession({
  key = 'made',
  runs = 1,
  turns = 10,
  say = (what) => what,
}: GeneratedOptions = {}): GeneratedSession {
  const made = Array.from({ length: runs }, (_, index) => generatedRun(index, turns, say))
  const row = plainRow(key, { title: say(`Session ${key}`), runs, turns: runs * turns, calls: runs * turns * 2 })
  return {
    view: { row, shellArguments: '/made.jsonl', notes: [say('A note about it.')], runs: made.map(({ run }) => run) },
    records: made.map(({ records }) => records),
    parts: made.map(({ parts }) => parts),
  }
}

interface GeneratedRun {
  readonly run: RunView
  readonly records: readonly unknown[]
  readonly parts: readonly TranscriptPart[]
}

function generatedRun(index: number, turns: number, say: (what: string) => string): GeneratedRun {
  const items: TimelineItem[] = []
  const records: unknown[] = [{ type: 'begin', run: index }]
  const parts: TranscriptPart[] = [{ kind: 'person', by: 'person', text: say(`Prompt of run ${index + 1}`) }]
  const add = (
    kind: ItemKind,
    request: number,
    at: readonly [number, number],
    more: Partial<TimelineItem> = {},
  ): void => {
    records.push({ type: 'effect', kind, request, label: more.label ?? kind })
    const last = records.length - 1
    const base = {
      id: items.length,
      kind,
      scope: '',
      request,
      startMs: at[0],
      endMs: at[1],
      label: kind,
      status: 'done',
    }
    items.push({ ...base, tokens: 0, costUsd: 0, firstRecord: last, lastRecord: last, part: null, ...more })
  }
  for (let turn = 1; turn <= turns; turn++) {
    const at = (turn - 1) * 100
    const first = records.length
    const isFailing = turn % 7 === 0
    add('turn', turn, [at, at + 100], { label: `turn ${turn}`, lastRecord: first + 4 })
    parts.push({ kind: 'answer', text: say(`Answer ${turn}`) })
    add('attempt', turn, [at, at + 50], { label: say('model-1'), tokens: 100, costUsd: 0.001, part: parts.length - 1 })
    for (const name of ['Read', 'Edit']) {
      parts.push(generatedCall(`${name} ${turn}`, isFailing && name === 'Edit', say))
      const status = isFailing && name === 'Edit' ? 'failed' : 'done'
      add('tool', turn, [at + 50, at + 90], { label: say(`${name} file-${turn}.ts`), status, part: parts.length - 1 })
    }
    add('hook', turn, [at + 90, at + 95], { label: say('PostToolUse') })
    if (turn % 5 !== 0) continue
    const scope = `agent:${turn}:0:call/`
    add('agent', turn, [at + 50, at + 90], { scope, label: say(`agent ${turn}`) })
    add('attempt', 1, [at + 50, at + 70], { scope, label: say('model-2') })
    add('tool', 1, [at + 70, at + 85], { scope, label: say('Grep') })
    add('lap', turn, [at + 99, at + 99], { label: say('max_output_tokens'), status: '' })
  }
  add('ending', turns, [turns * 100, turns * 100], { label: say('max_turns'), status: 'max_turns' })
  const message = say(`Step limit reached: ${turns}/${turns}`)
  const run: RunView = {
    runId: `run${index + 1}`,
    prompt: say(`Prompt of run ${index + 1}`),
    isCopy: false,
    isContinued: false,
    graded: gradedAs(null),
    why: say(`max_turns: why of run ${index + 1}`),
    account: generatedAccount(turns, message, say),
    trajectory: generatedTrajectory(turns),
    items,
    points: [],
    windows: [],
    unpriced: [],
    records: records.length,
    parts: parts.length,
  }
  return { run, records, parts }
}

function generatedCall(name: string, isError: boolean, say: (what: string) => string): TranscriptPart {
  return {
    kind: 'call',
    name: say(name),
    callId: name,
    input: JSON.stringify({ file_path: say(`${name}.ts`) }, null, 2),
    result: say(`Result of ${name}`),
    isError,
    durationMs: 40,
    changes: name.startsWith('Edit') ? ['@@ -1,1 +1,1 @@', say('-before'), say('+after')] : [],
    agent: name === 'Read 5' ? [{ kind: 'answer', text: say('An agent said it') }] : [],
  }
}

function generatedAccount(turns: number, message: string, say: (what: string) => string): Account {
  const none = { turns: 0, tokens: 0, costUsd: 0, activeMs: 0 }
  const phase = { requests: 0, tokens: 0, costUsd: 0 }
  const activeMs = turns * 100
  const totals = {
    turns,
    requests: turns,
    tokens: turns * 100,
    costUsd: turns * 0.001,
    committedUsd: turns * 0.001,
    activeMs,
  }
  return {
    run: { sessionId: 'made', runId: 'run1', agentId: 'main' } as Account['run'],
    ending: {
      reason: 'max_turns',
      signal: { reason: StopCategory.StepsLimitReached, message, context: { limit: turns }, source: say('steps') },
      others: [],
      error: null,
      stillRunning: [],
    },
    overridden: [],
    limits: [
      { limit: 'maxTurns', unit: 'turns', used: turns, max: turns, isReached: true },
      { limit: 'maxBudgetUsd', unit: 'usd', used: totals.costUsd, max: totals.costUsd * 4, isReached: false },
      { limit: 'maxTotalTokens', unit: 'tokens', used: totals.tokens, max: null, isReached: false },
    ],
    laps: [],
    ranking: { turns: 0, others: 3 },
    totals,
    carried: none,
    phases: [
      { phase: 'model', ms: activeMs / 2, ...phase },
      { phase: 'tools', ms: activeMs / 2, ...phase },
    ],
    tools: [],
    slowest: [],
    dearest: [],
    open: [],
  }
}

function generatedTrajectory(turns: number): Trajectory {
  const limits = { maxBudgetUsd: null, maxRunUsd: null, maxTotalTokens: null, maxDurationMs: null, spentBeforeUsd: 0 }
  return {
    turns: [],
    ending: { reason: 'max_turns', limit: turns, hasAnswer: false },
    limits: { maxTurns: turns, ...limits },
    carried: { turns: 0, tokens: 0, nanos: 0, ms: 0 },
  }
}

/** A source over generated sessions, one of which may change while it is being viewed. */
export interface GeneratedSource extends SessionSource {
  change(session: GeneratedSession): void
}

export function generatedSource(...sessions: readonly GeneratedSession[]): GeneratedSource {
  const byKey = new Map(sessions.map((session) => [session.view.row.key, session]))
  const listeners = new Set<(keys: readonly string[]) => void>()
  return {
    title: 'made sessions',
    async *list() {
      for (const { view } of byKey.values()) yield await Promise.resolve(view.row)
    },
    row: (key) => Promise.resolve(byKey.get(key)?.view.row),
    session: (key) => Promise.resolve(byKey.get(key)?.view),
    records: (key, run, from, count) => Promise.resolve(byKey.get(key)?.records[run]?.slice(from, from + count) ?? []),
    parts: (key, run, from, count) => Promise.resolve(byKey.get(key)?.parts[run]?.slice(from, from + count) ?? []),
    watch(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    change(session) {
      byKey.set(session.view.row.key, session)
      for (const listener of listeners) listener([session.view.row.key])
    },
  }
}
