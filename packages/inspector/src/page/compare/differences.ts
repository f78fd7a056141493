import { counted, elapsed, many, money, visible } from '@halting/analysis/words'
import type { Account } from '@halting/analysis'
import type { SessionView, TurnCall } from '@halting/analysis/view'
import type { Pair } from './align.ts'
import type { ComparedTurn } from './turns.ts'

/** How two aligned turns differ. */
export type Difference = 'calls' | 'inputs' | 'outcomes' | 'model' | 'compaction'

/** The differences of a pair; empty when one side is missing, which is a difference itself. */
export function differencesOf(
  pair: Pair,
  first: readonly ComparedTurn[],
  second: readonly ComparedTurn[],
): readonly Difference[] {
  const one = turnAt(first, pair.first)
  const other = turnAt(second, pair.second)
  if (one === undefined || other === undefined) return []
  const found: Difference[] = []
  if (pair.kind === 'changed') found.push('calls')
  else {
    if (!sameWords(inputs(one.calls), inputs(other.calls))) found.push('inputs')
    if (!sameWords(outcomes(one.calls), outcomes(other.calls))) found.push('outcomes')
  }
  if (one.model !== other.model) found.push('model')
  if (one.isCompacted !== other.isCompacted) found.push('compaction')
  return found
}

export function turnAt(turns: readonly ComparedTurn[], place: number | null): ComparedTurn | undefined {
  return place === null ? undefined : turns[place]
}

/** Compares whole inputs, not only labels: two writes of one file may differ in content. */
function inputs(calls: readonly TurnCall[]): readonly string[] {
  return calls.map(({ label, inputDigest }) => `${label}\n${inputDigest}`).toSorted()
}

function outcomes(calls: readonly TurnCall[]): readonly string[] {
  return calls.map(({ label, status }) => `${label}\n${status}`).toSorted()
}

function sameWords(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index])
}

/** The index of the first pair with different calls, inputs or outcomes; undefined if all are equal. */
export function firstDivergence(
  pairs: readonly Pair[],
  first: readonly ComparedTurn[],
  second: readonly ComparedTurn[],
): number | undefined {
  const found = pairs.findIndex((pair) => {
    if (pair.kind !== 'same') return true
    const differences = differencesOf(pair, first, second)
    return differences.includes('outcomes') || differences.includes('inputs')
  })
  return found < 0 ? undefined : found
}

/** Where two runs diverge, in words. */
export function divergenceText(
  pairs: readonly Pair[],
  first: readonly ComparedTurn[],
  second: readonly ComparedTurn[],
): string {
  const place = firstDivergence(pairs, first, second)
  const pair = place === undefined ? undefined : pairs[place]
  if (place === undefined || pair === undefined) {
    if (pairs.length === 0) return 'Neither session has a turn.'
    return `All turns made the same calls, with the same inputs and the same outcomes: ${many(pairs.length, 'turn')}.`
  }
  const after =
    place === 0 ? 'They differ at the first turn' : `They differ after ${many(place, 'turn')} with the same calls`
  return `${after}: ${firstDifferenceText(pair, pairs.slice(place), first, second)}`
}

function firstDifferenceText(
  pair: Pair,
  rest: readonly Pair[],
  first: readonly ComparedTurn[],
  second: readonly ComparedTurn[],
): string {
  const one = turnAt(first, pair.first)
  const other = turnAt(second, pair.second)
  if (one !== undefined && other !== undefined) {
    const isOutcome = differencesOf(pair, first, second).includes('outcomes')
    const isSame = pair.kind === 'same'
    const verb = isOutcome
      ? 'had different outcomes'
      : isSame
        ? 'made the same calls with different inputs'
        : 'made different calls'
    const describe = (turn: ComparedTurn): string => callsText(turn.calls, isSame)
    return `turn ${one.turn} of the first and turn ${other.turn} of the second ${verb}. The first: ${describe(one)}. The second: ${describe(other)}.`
  }
  const [side, missing, turn] = one === undefined ? ['second', 'first', other] : ['first', 'second', one]
  const isEnd = rest.every(({ kind }) => kind === pair.kind)
  if (isEnd) return `the ${missing} made no more turns, and the ${side} made ${many(rest.length, 'more turn')}.`
  return `turn ${turn?.turn ?? 0} of the ${side} has no counterpart. It was: ${callsText(turn?.calls ?? [], false)}.`
}

const maxCalls = 3

/** The calls of a turn on one line; `an answer` when there are none. */
export function callsText(calls: readonly TurnCall[], withOutcomes: boolean): string {
  if (calls.length === 0) return 'an answer'
  const labels = calls.slice(0, maxCalls).map(({ label, status }) => {
    const text = visible(label.length > 90 ? `${label.slice(0, 89)}…` : label)
    return withOutcomes && status !== '' ? `${text} (${status})` : text
  })
  const left = calls.length - labels.length
  return `${labels.join(', ')}${left > 0 ? `, and ${many(left, 'more call')}` : ''}`
}

/** One figure of both sides as text, and its change. */
export interface ComparedFigure {
  readonly name: string
  readonly first: string
  readonly second: string
  /** `+20 %`, `3.0 times`, `the same`. */
  readonly change: string
}

/** The ending and totals of the selected runs, or of all runs. */
export function comparedFigures(
  views: readonly [SessionView, SessionView],
  chosen: readonly [number | undefined, number | undefined],
): readonly ComparedFigure[] {
  const [first, second] = [accountsOf(views[0], chosen[0]), accountsOf(views[1], chosen[1])]
  const row = (name: string, figure: (account: Account) => number, text: (value: number) => string): ComparedFigure => {
    const [one, other] = [total(first, figure), total(second, figure)]
    return { name, first: text(one), second: text(other), change: changeText(one, other) }
  }
  const ending = (accounts: readonly Account[]): string => accounts.at(-1)?.ending?.reason ?? 'none'
  const [one, other] = [ending(first), ending(second)]
  return [
    { name: 'ending', first: one, second: other, change: one === other ? 'the same' : 'different' },
    withoutPrices(
      row('dollars', ({ totals, carried }) => totals.costUsd - carried.costUsd, money),
      views,
    ),
    row('turns', ({ totals, carried }) => totals.turns - carried.turns, counted),
    row('requests', ({ totals }) => totals.requests, counted),
    row('tokens', ({ totals, carried }) => totals.tokens - carried.tokens, counted),
    row('time', ({ totals, carried }) => totals.activeMs - carried.activeMs, elapsed),
  ]
}

/** Marks dollars as incomplete when a model has no price: they cannot be compared. */
function withoutPrices(dollars: ComparedFigure, [first, second]: readonly [SessionView, SessionView]): ComparedFigure {
  const text = (amount: string, { row }: SessionView): string => (row.unpriced.length === 0 ? amount : `${amount} + ?`)
  const isWhole = first.row.unpriced.length + second.row.unpriced.length === 0
  return {
    ...dollars,
    first: text(dollars.first, first),
    second: text(dollars.second, second),
    change: isWhole ? dollars.change : 'a model has no known price',
  }
}

function accountsOf({ runs }: SessionView, chosen: number | undefined): readonly Account[] {
  return runs.filter((_, index) => chosen === undefined || chosen === index + 1).map(({ account }) => account)
}

function total(accounts: readonly Account[], figure: (account: Account) => number): number {
  return accounts.reduce((sum, account) => sum + figure(account), 0)
}

export function changeText(first: number, second: number): string {
  if (first === second) return 'the same'
  if (first === 0) return 'from nothing'
  const share = second / first
  if (share >= 2) return `${share.toFixed(1)} times`
  const percent = Math.round((share - 1) * 100)
  if (percent === 0) return second > first ? 'a little more' : 'a little less'
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent)} %`
}
