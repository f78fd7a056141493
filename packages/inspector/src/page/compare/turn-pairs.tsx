import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { counted, elapsed, many, money } from '../../figures.ts'
import { VirtualList } from '../common/virtual-list.tsx'
import type { Pair } from './align.ts'
import { callsText, differencesOf, turnAt, type Difference } from './differences.ts'
import type { TurnCall } from '../../view/types.ts'
import type { ComparedTurn } from './turns.ts'

interface TurnPairsProps {
  readonly pairs: readonly Pair[]
  readonly first: readonly ComparedTurn[]
  readonly second: readonly ComparedTurn[]
  /** The place of the first pair that differs. */
  readonly parting: number | undefined
}

const kindTexts: { readonly [kind in Pair['kind']]: string } = {
  same: 'the same calls',
  changed: 'other calls',
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
  calls: 'other calls',
  inputs: 'given something else',
  outcomes: 'another outcome',
  model: 'another model',
  compaction: 'compacted in one of them',
}

/** Turns side by side, and the chosen pair whole below. */
export function TurnPairs({ pairs, first, second, parting }: TurnPairsProps): JSX.Element {
  const chosen = useSignal<number | null>(null)
  const isOnlyDifferent = useSignal(false)
  const shown = useMemo(() => {
    const all = pairs.map((pair, place) => ({ pair, place, differences: differencesOf(pair, first, second) }))
    return isOnlyDifferent.value
      ? all.filter(({ pair, differences }) => pair.kind !== 'same' || differences.length > 0)
      : all
  }, [pairs, first, second, isOnlyDifferent.value])
  const at = chosen.value === null || shown[chosen.value] === undefined ? null : chosen.value
  const pair = at === null ? undefined : shown[at]?.pair
  const partingAt = shown.findIndex(({ place }) => place === parting)
  return (
    <>
      <div class="list-tools">
        <button type="button" disabled={partingAt < 0} onClick={() => (chosen.value = partingAt)}>
          Where they part
        </button>
        <label>
          <input
            type="checkbox"
            checked={isOnlyDifferent.value}
            onChange={({ currentTarget }) => {
              isOnlyDifferent.value = currentTarget.checked
              chosen.value = null
            }}
          />
          only what differs
        </label>
      </div>
      <div class="pair-list">
        <VirtualList
          label={`${many(shown.length, 'pair')} of turns`}
          count={shown.length}
          rowRem={5.5}
          selected={at}
          onSelect={(index) => (chosen.value = index)}
          row={(index) => {
            const each = shown[index]
            if (each === undefined) return null
            const { pair: own, differences, place } = each
            return (
              <div class="pair" data-kind={own.kind} data-parting={place === parting}>
                <Side turn={turnAt(first, own.first)} />
                <span class="pair-mark" title={pairText(own, differences)}>
                  <span aria-hidden="true">
                    {own.kind === 'same' && differences.length > 0 ? '≈' : kindMarks[own.kind]}
                  </span>
                  <span class="hidden-text">{pairText(own, differences)}</span>
                </span>
                <Side turn={turnAt(second, own.second)} />
              </div>
            )
          }}
        />
      </div>
      {pair === undefined ? (
        <p class="soft">Choose a pair of turns to see all of its calls.</p>
      ) : (
        <section class="pair-whole" aria-label="The chosen pair of turns">
          <p>{pairText(pair, differencesOf(pair, first, second))}</p>
          <div class="compare-heads">
            <WholeTurn turn={turnAt(first, pair.first)} beside={turnAt(second, pair.second)} />
            <WholeTurn turn={turnAt(second, pair.second)} beside={turnAt(first, pair.first)} />
          </div>
        </section>
      )}
    </>
  )
}

function pairText(pair: Pair, differences: readonly Difference[]): string {
  const others = differences.filter((each) => each !== 'calls').map((each) => differenceTexts[each])
  return [kindTexts[pair.kind], ...others].join(', ')
}

function Side({ turn }: { readonly turn: ComparedTurn | undefined }): JSX.Element {
  if (turn === undefined) return <span class="side side-none" />
  return (
    <span class="side numbers">
      <span class="side-line">
        <strong>{turnName(turn)}</strong> {turn.model}
        {turn.isCompacted ? ' · compacted' : ''}
      </span>
      <span class="side-line">{callsText(turn.calls, false)}</span>
      <span class="side-line soft">
        {money(turn.costUsd)} · {counted(turn.tokens)} tokens · {elapsed(turn.ms)} — {money(turn.soFar.costUsd)} ·{' '}
        {counted(turn.soFar.tokens)} · {elapsed(turn.soFar.ms)} so far
      </span>
    </span>
  )
}

function turnName({ run, turn }: ComparedTurn): string {
  return `${run}.${turn}`
}

interface WholeTurnProps {
  readonly turn: ComparedTurn | undefined
  readonly beside: ComparedTurn | undefined
}

function WholeTurn({ turn, beside }: WholeTurnProps): JSX.Element {
  if (turn === undefined) return <p class="soft">No turn stands here.</p>
  const known = new Map(beside?.calls.map((call) => [call.label, call]))
  return (
    <div>
      <h3>
        Run {turn.run}, turn {turn.turn}: {turn.model}
      </h3>
      {turn.calls.length === 0 ? <p>An answer without calls.</p> : null}
      <ul class="calls">
        {turn.calls.map((call, index) => {
          const mark = beside === undefined ? 'other' : markOf(call, known.get(call.label))
          return (
            <li key={index} data-mark={mark}>
              {call.label}
              {call.status === '' ? '' : ` (${call.status})`}
              {mark === 'same' ? null : <span class="warn">{markTexts[mark]}</span>}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

type Mark = 'same' | 'outcome' | 'input' | 'other'

const markTexts: { readonly [mark in Mark]: string } = {
  same: '',
  outcome: ' another outcome',
  input: ' given something else',
  other: ' not beside it',
}

function markOf(call: TurnCall, beside: TurnCall | undefined): Mark {
  if (beside === undefined) return 'other'
  if (beside.inputDigest !== call.inputDigest) return 'input'
  return beside.status === call.status ? 'same' : 'outcome'
}
