import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { many } from '@halting/analysis/words'
import { VirtualList } from '../common/virtual-list.tsx'
import type { Picture } from '../picture/picture.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import type { Pair } from './align.ts'
import { differencesOf, turnAt, type Difference } from './differences.ts'
import { callTexts, pairMark, pairText, turnLines, turnName } from './pair-words.ts'
import type { ComparedTurn } from './turns.ts'

interface TurnPairsProps {
  readonly pairs: readonly Pair[]
  readonly first: readonly ComparedTurn[]
  readonly second: readonly ComparedTurn[]
  /** Index of the first pair that differs. */
  readonly firstDifference: number | undefined
  /** A picture of the whole view with these pairs and the selected one. */
  readonly pictureOf: (shown: ShownPairs) => Picture
}

/** A pair with its index among all pairs. */
interface ShownPair {
  readonly pair: Pair
  readonly place: number
  readonly differences: readonly Difference[]
}

export interface ShownPairs {
  readonly pairs: readonly ShownPair[]
  readonly isOnlyDifferent: boolean
  readonly chosen: ShownPair | undefined
}

/** A list of paired turns, with the selected pair in full below. */
export function TurnPairs({ pairs, first, second, firstDifference, pictureOf }: TurnPairsProps): JSX.Element {
  const at = useSignal<number | null>(null)
  const isOnlyDifferent = useSignal(false)
  const shown = useMemo(() => {
    const all = pairs.map((pair, place): ShownPair => ({
      pair,
      place,
      differences: differencesOf(pair, first, second),
    }))
    return isOnlyDifferent.value
      ? all.filter(({ pair, differences }) => pair.kind !== 'same' || differences.length > 0)
      : all
  }, [pairs, first, second, isOnlyDifferent.value])
  const chosen = at.value === null ? undefined : shown[at.value]
  const differenceAt = shown.findIndex(({ place }) => place === firstDifference)
  return (
    <>
      <div class="list-tools">
        <button type="button" disabled={differenceAt < 0} onClick={() => (at.value = differenceAt)}>
          Go to the first difference
        </button>
        <label>
          <input
            type="checkbox"
            checked={isOnlyDifferent.value}
            onChange={({ currentTarget }) => {
              isOnlyDifferent.value = currentTarget.checked
              at.value = null
            }}
          />{' '}
          only differences
        </label>
        <PictureButtons
          name="comparison"
          pictureOf={() => pictureOf({ pairs: shown, isOnlyDifferent: isOnlyDifferent.value, chosen })}
        />
      </div>
      <div class="pair-list">
        <VirtualList
          label={`${many(shown.length, 'pair')} of turns`}
          count={shown.length}
          rowRem={6.6}
          selected={chosen === undefined ? null : at.value}
          onSelect={(index) => (at.value = index)}
          row={(index) => (
            <PairRow shown={shown[index]} first={first} second={second} firstDifference={firstDifference} />
          )}
        />
      </div>
      <WholePair chosen={chosen} first={first} second={second} />
    </>
  )
}

interface PairProps {
  readonly first: readonly ComparedTurn[]
  readonly second: readonly ComparedTurn[]
}

interface PairRowProps extends PairProps {
  readonly shown: ShownPair | undefined
  readonly firstDifference: number | undefined
}

/** A row of the list: both turns of a pair, and how they compare. */
function PairRow({ shown, first, second, firstDifference }: PairRowProps): JSX.Element | null {
  if (shown === undefined) return null
  const { pair, differences, place } = shown
  return (
    <div class="pair" data-kind={pair.kind} data-diverges={place === firstDifference}>
      <Side turn={turnAt(first, pair.first)} turns={first} />
      <span class="pair-mark" title={pairText(pair, differences)}>
        <span aria-hidden="true">{pairMark(pair, differences)}</span>
        <span class="hidden-text">{pairText(pair, differences)}</span>
      </span>
      <Side turn={turnAt(second, pair.second)} turns={second} />
    </div>
  )
}

/** The selected pair with all of its calls. */
function WholePair({ chosen, first, second }: PairProps & { readonly chosen: ShownPair | undefined }): JSX.Element {
  if (chosen === undefined) return <p class="soft">Select a pair of turns to see all of its calls.</p>
  const { pair, differences } = chosen
  const [firstTurn, secondTurn] = [turnAt(first, pair.first), turnAt(second, pair.second)]
  return (
    <section class="pair-whole" aria-label="The selected pair of turns">
      <p>{pairText(pair, differences)}</p>
      <div class="compare-heads">
        <WholeTurn turns={first} turn={firstTurn} counterpart={secondTurn} />
        <WholeTurn turns={second} turn={secondTurn} counterpart={firstTurn} />
      </div>
    </section>
  )
}

interface SideProps {
  readonly turn: ComparedTurn | undefined
  /** All turns of its side. */
  readonly turns: readonly ComparedTurn[]
}

function Side({ turn, turns }: SideProps): JSX.Element {
  if (turn === undefined) return <span class="side side-none" />
  const [model, calls, own, soFar] = turnLines(turn)
  return (
    <span class="side numbers">
      <span class="side-line">
        <strong>{turnName(turn, turns)}</strong> {model}
      </span>
      <span class="side-line">{calls}</span>
      <span class="side-line soft">{own}</span>
      <span class="side-line soft">{soFar}</span>
    </span>
  )
}

interface WholeTurnProps extends SideProps {
  readonly counterpart: ComparedTurn | undefined
}

function WholeTurn({ turn, turns, counterpart }: WholeTurnProps): JSX.Element {
  if (turn === undefined) return <p class="soft">No turn here.</p>
  const [model, , own, soFar] = turnLines(turn)
  return (
    <div>
      <h3>
        {turnName(turn, turns)}: {model}
      </h3>
      <p class="numbers">
        {own}; {soFar}
      </p>
      {turn.calls.length === 0 ? <p>An answer without tool calls.</p> : null}
      <ul class="calls">
        {callTexts(turn, counterpart).map(({ text, differs }, index) => (
          <li key={index}>
            {text}
            {differs === '' ? null : <span class="warn"> {differs}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
