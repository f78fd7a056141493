import { counted, elapsed, money, visible } from '@halting/analysis/words'
import type { SessionView, TurnCall } from '@halting/analysis/view'
import type { Pair } from './align.ts'
import { callsText, type Difference } from './differences.ts'
import type { ComparedTurn } from './turns.ts'

// Texts about pairs of turns, shared by the page and its picture.

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

/** A sign for the kind of pair. */
export function pairMark({ kind }: Pair, differences: readonly Difference[]): string {
  return kind === 'same' && differences.length > 0 ? '≈' : kindMarks[kind]
}

export function pairText(pair: Pair, differences: readonly Difference[]): string {
  const texts = differences.filter((each) => each !== 'calls').map((each) => differenceTexts[each])
  return [kindTexts[pair.kind], ...texts].join(', ')
}

/** The number of a turn, with its run when several runs are compared. */
export function turnName({ run, turn }: ComparedTurn, turns: readonly ComparedTurn[]): string {
  const isOne = turns.at(0)?.run === turns.at(-1)?.run
  return isOne ? `Turn ${turn}` : `Run ${run}, turn ${turn}`
}

/** Four lines on a turn: its model, its calls, its cost, and the cost so far. */
export function turnLines(turn: ComparedTurn): readonly [model: string, calls: string, own: string, soFar: string] {
  const { model, isCompacted, calls, costUsd, tokens, ms, soFar } = turn
  return [
    `${visible(model)}${isCompacted ? ', compacted' : ''}`,
    callsText(calls, false),
    spentText({ costUsd, tokens, ms }),
    `so far ${spentText(soFar)}`,
  ]
}

function spentText({ costUsd, tokens, ms }: ComparedTurn['soFar']): string {
  return `${money(costUsd)}, ${counted(tokens)} tokens, ${elapsed(ms)}`
}

/** A call with its outcome, and its difference from the counterpart. */
export interface CallText {
  readonly text: string
  /** The difference; '' for none. */
  readonly differs: string
}

export function callTexts(turn: ComparedTurn, counterpart: ComparedTurn | undefined): readonly CallText[] {
  const known = new Map(counterpart?.calls.map((call) => [call.label, call]))
  return turn.calls.map((call) => ({
    text: `${visible(call.label)}${call.status === '' ? '' : ` (${call.status})`}`,
    differs: counterpart === undefined ? noCounterpart : differenceOf(call, known.get(call.label)),
  }))
}

const noCounterpart = 'no counterpart'

function differenceOf(call: TurnCall, counterpart: TurnCall | undefined): string {
  if (counterpart === undefined) return noCounterpart
  if (counterpart.inputDigest !== call.inputDigest) return differenceTexts.inputs
  return counterpart.status === call.status ? '' : differenceTexts.outcomes
}

/** The title of a session, and where it is from. */
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
