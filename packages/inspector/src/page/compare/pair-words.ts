import { counted, elapsed, money, visible } from '@halting/analysis/words'
import type { SessionView, TurnCall } from '@halting/analysis/view'
import type { Pair } from './align.ts'
import { callsText, type Difference } from './differences.ts'
import type { ComparedTurn } from './turns.ts'

// What is said of turns that stand beside each other: the page and its picture have the same words.

const kindTexts: { readonly [kind in Pair['kind']]: string } = {
  same: 'the same calls',
  changed: 'different calls',
  'only-first': 'only the first',
  'only-second': 'only the second',
}

const kindMarks: { readonly [kind in Pair['kind']]: string } = {
  same: '=',
  changed: '≠',
  'only-first': '←',
  'only-second': '→',
}

const differenceTexts: { readonly [difference in Difference]: string } = {
  calls: 'different calls',
  inputs: 'different input',
  outcomes: 'different outcome',
  model: 'different model',
  compaction: 'compacted in one of them',
}

/** One sign for what a pair is. */
export function pairMark({ kind }: Pair, differences: readonly Difference[]): string {
  return kind === 'same' && differences.length > 0 ? '≈' : kindMarks[kind]
}

export function pairText(pair: Pair, differences: readonly Difference[]): string {
  const others = differences.filter((each) => each !== 'calls').map((each) => differenceTexts[each])
  return [kindTexts[pair.kind], ...others].join(', ')
}

/** A turn by its number, and by its run where several are compared. */
export function turnName({ run, turn }: ComparedTurn, turns: readonly ComparedTurn[]): string {
  const isOne = turns.at(0)?.run === turns.at(-1)?.run
  return isOne ? `Turn ${turn}` : `Run ${run}, turn ${turn}`
}

/** What a turn is, did, took, and what it all came to by then: a line each. */
export function turnLines(turn: ComparedTurn): readonly [model: string, calls: string, own: string, soFar: string] {
  const { model, isCompacted, calls, costUsd, tokens, ms, soFar } = turn
  return [
    `${visible(model)}${isCompacted ? ', compacted' : ''}`,
    callsText(calls, false),
    spent({ costUsd, tokens, ms }),
    `so far ${spent(soFar)}`,
  ]
}

function spent({ costUsd, tokens, ms }: ComparedTurn['soFar']): string {
  return `${money(costUsd)}, ${counted(tokens)} tokens, ${elapsed(ms)}`
}

/** A call with its outcome, and what differs from the one beside it. */
export interface CallText {
  readonly text: string
  /** '' where it is the same. */
  readonly differs: string
}

export function callTexts(turn: ComparedTurn, beside: ComparedTurn | undefined): readonly CallText[] {
  const known = new Map(beside?.calls.map((call) => [call.label, call]))
  return turn.calls.map((call) => ({
    text: `${visible(call.label)}${call.status === '' ? '' : ` (${call.status})`}`,
    differs: beside === undefined ? notBeside : differenceOf(call, known.get(call.label)),
  }))
}

const notBeside = 'no counterpart'

function differenceOf(call: TurnCall, beside: TurnCall | undefined): string {
  if (beside === undefined) return notBeside
  if (beside.inputDigest !== call.inputDigest) return differenceTexts.inputs
  return beside.status === call.status ? '' : differenceTexts.outcomes
}

/** What a session is called, and where it is from. */
export function sideTexts({ row }: SessionView): { readonly title: string; readonly from: string } {
  const { title, sessionId, cwd, program } = row
  return {
    title: visible(title.trim() === '' ? sessionId : title),
    from: [sessionId, cwd, program]
      .filter((text) => text !== '')
      .map((text) => visible(text))
      .join(' · '),
  }
}
