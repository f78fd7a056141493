import { plus, nothing, type Amount } from '../budget/ledger.ts'
import { isJsonObject } from '../json.ts'
import { startState, type Lap, type RunState } from '../state.ts'
import type { Terminal } from '../stop/terminal.ts'
import { Transcript } from '../transcript.ts'
import { beginningOf } from './check-records.ts'
import type { StepRecord } from './log.ts'

/** What a run's record comes to. */
export type Folded =
  | { readonly kind: 'ended'; readonly terminal: Terminal; readonly spent: LedgerSoFar }
  | {
      readonly kind: 'open'
      /** The state at the beginning of the open turn. */
      readonly state: RunState
      /** Records of past turns, which ask nothing again. */
      readonly past: readonly StepRecord[]
      /** Records of the open turn, to answer from. */
      readonly replay: readonly StepRecord[]
      readonly spent: LedgerSoFar
      /** How far the record goes, on the session's active clock. */
      readonly recordedUntil: number
    }

/** What a record says was spent: what was settled, and the part of it that was charged at worst case. */
export interface LedgerSoFar {
  readonly settled: Amount
  readonly unknown: Amount
}

/**
 * Resume is fold, then replay of the open turn: laps are folded into the state, and what came after the last one is answered from the record.
 * `before` is the session's transcript as it was when the run began.
 * @throws ConfigurationError for what is no record of one run.
 */
export function foldRun(records: readonly StepRecord[], before: Transcript = Transcript.empty()): Folded {
  const start = recordedStart(beginningOf(records), before)
  const spent = ledgerSoFarOf(records)
  let { transcript } = start
  let last: Lap | undefined
  let open = 1
  for (const [index, record] of records.entries()) {
    if (record.type === 'end' && record.scope === '') return { kind: 'ended', terminal: record.terminal, spent }
    if (record.type !== 'lap' || record.lap.scope !== '') continue
    last = record.lap
    for (const entry of last.added) transcript = transcript.append(entry)
    open = index + 1
  }
  const { startedAt } = start.spent
  const state = last === undefined ? start : { ...start, transcript, spent: { ...last.spent, startedAt } }
  const [past, replay] = [records.slice(0, open), records.slice(open)]
  return { kind: 'open', state, past, replay, spent, recordedUntil: lastMomentOf(records) }
}

/** The state in which a recorded run began. */
export function recordedStart(record: Extract<StepRecord, { readonly type: 'start' }>, before: Transcript): RunState {
  const { start, at } = record
  const carried = start.spent.now - start.spent.startedAt
  const tracker = { ...start.spent.tracker, startedAt: at }
  const state = startState(start.run, before, { ...start.spent, startedAt: at - carried, now: at, tracker })
  let { transcript } = state
  for (const entry of start.added) transcript = transcript.append(entry)
  return { ...state, transcript }
}

/** Ids of the messages that a record shows as taken. */
export function inboxIdsIn(records: readonly StepRecord[]): readonly string[] {
  return records.flatMap((record) =>
    record.type === 'control' ? (record.control.messages ?? []).map(({ id }) => id) : [],
  )
}

/** What was settled, plus the reservation of every request that is open, at worst case (spec R-RES-5). */
function ledgerSoFarOf(records: readonly StepRecord[]): LedgerSoFar {
  const open = new Map<string, Amount>()
  let settled = nothing
  let unknown = nothing
  for (const record of records) {
    if (record.type === 'start' && record.scope === '') {
      // What the run carried over from the one before it.
      const { nanos, unknownNanos, totalTokens } = record.start.spent
      settled = plus(settled, { nanos: nanos + unknownNanos, tokens: totalTokens })
      unknown = plus(unknown, { nanos: unknownNanos, tokens: 0 })
    }
    if (record.type === 'intent' && isJsonObject(record.intent) && record.intent['granted'] === true) {
      open.set(record.key, amountOf(record.intent))
    }
    if (record.type !== 'result') continue
    open.delete(record.key)
    const charge = isJsonObject(record.value) ? record.value['charge'] : undefined
    if (!isJsonObject(charge)) continue
    settled = plus(settled, amountOf(charge))
    if (charge['known'] === false) unknown = plus(unknown, amountOf(charge))
  }
  for (const amount of open.values()) {
    settled = plus(settled, amount)
    unknown = plus(unknown, amount)
  }
  return { settled, unknown }
}

function amountOf({ nanos, tokens }: { readonly [key: string]: unknown }): Amount {
  return { nanos: atLeastNothing(nanos), tokens: atLeastNothing(tokens) }
}

function atLeastNothing(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

/** How far a record goes, on the session's active clock. */
export function lastMomentOf(records: readonly StepRecord[]): number {
  return records.reduce(latest, 0)
}

function latest(time: number, record: StepRecord): number {
  if (record.type === 'result') return Math.max(time, record.at + record.durationMs)
  return 'at' in record ? Math.max(time, record.at) : time
}
