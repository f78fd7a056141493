import { addAmounts, zeroAmount, type Amount } from '../limits/ledger.ts'
import { amountOf, maxOfGrant } from '../limits/recorded-amount.ts'
import { inboxIdsOf } from './inbox.ts'
import { isJsonObject } from '../values/json.ts'
import { startState, type Iteration, type RunProgress, type RunState } from '../state/state.ts'
import type { RunResult } from '../endings/run-result.ts'
import { Transcript } from '../conversation/transcript.ts'
import { startOfRecord } from './check-records.ts'
import type { FoldedPast, StepRecord } from './step-record.ts'

/** The result of folding a run's records. */
export type RestoredRun =
  | {
      readonly kind: 'ended'
      /** How the run ended. */
      readonly terminal: RunResult
      /** What it spent. */
      readonly spent: LedgerSoFar
    }
  | {
      readonly kind: 'open'
      /** The state at the beginning of the open turn. */
      readonly state: RunState
      /** Records of past turns, which are not replayed. */
      readonly past: readonly StepRecord[]
      /** Records of the open turn, from which steps are answered. */
      readonly replay: readonly StepRecord[]
      /** Records of past turns that belong to running background agents. Steps are answered from these records, too. */
      readonly agents: readonly StepRecord[]
      /** The recorded spending. */
      readonly spent: LedgerSoFar
      /** The last recorded time, on the session's active clock. */
      readonly recordedUntil: number
    }

/** The recorded spending: the total, and the part of it that was charged at worst case. */
export interface LedgerSoFar {
  /** Spending of finished requests. */
  readonly settled: Amount
  /** The part of `settled` that was charged at worst case. */
  readonly unknown: Amount
}

/**
 * Folds the records of a run. A resume folds them, then replays the open turn: iterations are folded into the state, and
 * steps after the last iteration are answered from the record. `before` is the session's transcript when the run
 * started.
 * @throws ConfigurationError for records that are not those of one run.
 */
export function foldRun(records: readonly StepRecord[], before: Transcript = Transcript.empty()): RestoredRun {
  const start = recordedStart(startOfRecord(records), before)
  const spent = ledgerSoFarOf(records)
  let { transcript } = start
  let last: Iteration | undefined
  let open = 1
  for (const [index, record] of records.entries()) {
    if (record.type === 'end' && record.scope === '') return { kind: 'ended', terminal: record.terminal, spent }
    if (record.type !== 'lap' || record.lap.scope !== '') continue
    last = record.lap
    transcript = transcript.appendAll(last.added)
    open = index + 1
  }
  const { startedAt } = start.spent
  const state = last === undefined ? start : { ...start, transcript, spent: { ...last.spent, startedAt } }
  // A stage of an earlier run may end during this run. It is not part of the turns of this run.
  const isOpen = (record: StepRecord, index: number): boolean => index >= open && record.type !== 'stage'
  const replay = records.filter(isOpen)
  const past = records.filter((record, index) => !isOpen(record, index))
  const agents = recordsOfAgents(state, past)
  return { kind: 'open', state, past, replay, agents, spent, recordedUntil: lastTimeOf(records) }
}

function recordsOfAgents({ run, spent }: RunState, past: readonly StepRecord[]): readonly StepRecord[] {
  const { openAgents = [] } = spent
  if (openAgents.length === 0) return []
  const prefixes = openAgents.map(({ name }) => `${run.runId}/${name}`)
  return past.filter((record) => 'key' in record && prefixes.some((prefix) => record.key.startsWith(prefix)))
}

/** The state in which a recorded run started. */
export function recordedStart(record: Extract<StepRecord, { readonly type: 'start' }>, before: Transcript): RunState {
  const { start, at } = record
  const carried = start.spent.now - start.spent.startedAt
  const tracker = { ...start.spent.tracker, startedAt: at }
  const state = startState(start.run, before, { ...start.spent, startedAt: at - carried, now: at, tracker })
  const startLength = before.length + (start.history ?? 0)
  return { ...state, startLength, transcript: state.transcript.appendAll(start.added) }
}

/**
 * Ids of the messages that a record shows as received: a run started with them, or received them in a control record or
 * in an iteration that folds such a record.
 */
export function inboxIdsIn(records: readonly StepRecord[]): readonly string[] {
  return records.flatMap((record) => {
    if (record.type === 'control') return (record.control.messages ?? []).map(({ id }) => id)
    if (record.type === 'start') return inboxIdsOf(record.start.added)
    return record.type === 'lap' && record.folds !== undefined ? inboxIdsOf(record.lap.added) : []
  })
}

// Spec R-RES-5.
/** The spending so far, plus the worst-case reservation of every open request. */
function ledgerSoFarOf(records: readonly StepRecord[]): LedgerSoFar {
  const past = new RunTotals()
  for (const record of records) past.note(record)
  let { settled, unknown } = past.folded()
  for (const [, amount] of past.folded().open) {
    settled = addAmounts(settled, amount)
    unknown = addAmounts(unknown, amount)
  }
  return { settled, unknown }
}

/** Sums up the records of a run as they arrive, for callers that do not store them all. A start of the main loop resets the sums. */
export class RunTotals {
  #settled: Amount = zeroAmount
  #unknown: Amount = zeroAmount
  #until = 0
  readonly #open = new Map<string, Amount>()

  /** Adds one record. */
  note(record: StepRecord): void {
    switch (record.type) {
      case 'start':
        if (record.scope === '') this.#begin(record.start.spent)
        break
      case 'intent':
        if (isJsonObject(record.intent) && record.intent['granted'] === true)
          this.#open.set(record.key, maxOfGrant(record.intent) ?? zeroAmount)
        break
      case 'result':
        this.#open.delete(record.key)
        this.#charge(isJsonObject(record.value) ? record.value['charge'] : undefined)
        break
      case 'lap':
        if (record.folds !== undefined) this.continueFrom(record.folds)
        break
      case 'control':
      case 'end':
      case 'rewind':
      case 'stage':
    }
    this.#until = latest(this.#until, record)
  }

  /** Continues from these figures: the records that follow are added to the figures. */
  continueFrom({ settled, unknown, open, until }: FoldedPast): void {
    this.#settled = settled
    this.#unknown = unknown
    this.#until = until
    this.#open.clear()
    for (const [key, amount] of open) this.#open.set(key, amount)
  }

  /** The sums so far. */
  folded(): FoldedPast {
    return { settled: this.#settled, unknown: this.#unknown, open: [...this.#open], until: this.#until }
  }

  /** Includes what the run carried over from the previous run. */
  #begin({ nanos, unknownNanos, totalTokens }: RunProgress): void {
    this.#settled = { nanos: nanos + unknownNanos, tokens: totalTokens }
    this.#unknown = { nanos: unknownNanos, tokens: 0 }
    this.#until = 0
    this.#open.clear()
  }

  #charge(charge: unknown): void {
    if (!isJsonObject(charge)) return
    this.#settled = addAmounts(this.#settled, amountOf(charge))
    if (charge['known'] === false) this.#unknown = addAmounts(this.#unknown, amountOf(charge))
  }
}

/** The last time in a record, on the session's active clock. */
export function lastTimeOf(records: readonly StepRecord[]): number {
  return records.reduce(latest, 0)
}

function latest(time: number, record: StepRecord): number {
  if (record.type === 'result') return Math.max(time, record.at + record.durationMs)
  if (record.type === 'lap') return Math.max(time, record.folds?.until ?? 0)
  return 'at' in record ? Math.max(time, record.at) : time
}
