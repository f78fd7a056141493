import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { SessionView } from '@halting/analysis/view'
import { useKeys } from '../common/keys.ts'
import { shownText } from '../common/shown-text.ts'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { addressOf, replaceRoute, route } from '../data/route.ts'
import { useFigures } from '../data/figures.ts'
import { useSession, type Loaded } from '../data/store.ts'
import { alignTurns } from './align.ts'
import { comparedFigures, divergenceText, firstDivergence, type ComparedFigure } from './differences.ts'
import { pictureOfComparison, changeTitle } from './compare-picture.ts'
import { sideTexts } from './pair-words.ts'
import { TurnPairs } from './turn-pairs.tsx'
import { turnsOf } from './turns.ts'

interface CompareViewProps {
  readonly keys: readonly [string, string]
}

/** Two sessions, turn by turn. */
export function CompareView({ keys }: CompareViewProps): JSX.Element {
  const first = useSession(keys[0])
  const second = useSession(keys[1])
  useKeys([{ keys: ['x'], description: 'Swap the two sessions', run: () => exchange(keys) }])
  const [one, other] = [usePoints(first), usePoints(second)]
  if (one.kind === 'failed') return <ErrorNote>The first session: {one.message}</ErrorNote>
  if (other.kind === 'failed') return <ErrorNote>The second session: {other.message}</ErrorNote>
  if (one.kind === 'loading' || other.kind === 'loading') return <Busy>Reading the two sessions …</Busy>
  return <Compared keys={keys} first={one.value} second={other.value} />
}

/** The session with the points of all runs, after it has been read completely. */
function usePoints(loaded: ReturnType<typeof useSession>): Loaded<SessionView> {
  const points = useFigures(loaded.kind === 'loaded' && !loaded.value.isBeginning ? loaded.value : undefined, 'points')
  return loaded.kind === 'failed' ? loaded : points
}

interface ComparedProps extends CompareViewProps {
  readonly first: SessionView
  readonly second: SessionView
}

function Compared({ keys, first, second }: ComparedProps): JSX.Element {
  const { value: shown } = route
  const runs = chosenRuns(shown.view === 'compare' ? shown.query : undefined, [first.runs.length, second.runs.length])
  const [ofFirst, ofSecond] = runs
  const one = useMemo(() => turnsOf(first, ofFirst), [first, ofFirst])
  const other = useMemo(() => turnsOf(second, ofSecond), [second, ofSecond])
  const { pairs, pieces } = useMemo(() => alignTurns(one, other), [one, other])
  const firstDifference = useMemo(() => firstDivergence(pairs, one, other), [pairs, one, other])
  const divergence = useMemo(() => divergenceText(pairs, one, other), [pairs, one, other])
  const figures = useMemo(
    () => comparedFigures([first, second], [ofFirst, ofSecond]),
    [first, second, ofFirst, ofSecond],
  )
  const choose = (next: ChosenRuns): void => {
    const query = queryOfRuns(next)
    replaceRoute(query === '' ? { view: 'compare', keys } : { view: 'compare', keys, query })
  }
  return (
    <article class="compare">
      <h1>Two sessions, turn by turn</h1>
      <div class="compare-heads">
        <SideHead name="First" view={first} run={ofFirst} onRun={(run) => choose([run, ofSecond])} />
        <SideHead name="Second" view={second} run={ofSecond} onRun={(run) => choose([ofFirst, run])} />
      </div>
      <p>
        <button type="button" aria-keyshortcuts="x" onClick={() => exchange(keys)}>
          Swap the two
        </button>
      </p>
      <FigureTable figures={figures} />
      <p class="divergence" role="status">
        {divergence}
      </p>
      {pieces === null ? null : (
        <p class="note warn">
          The sessions are too long to align as a whole, so pieces of {pieces} turns were aligned separately. Select
          single runs to align them exactly.
        </p>
      )}
      <TurnPairs
        pairs={pairs}
        first={one}
        second={other}
        firstDifference={firstDifference}
        pictureOf={(shownPairs) =>
          pictureOfComparison(
            {
              views: [first, second],
              runs: [runsText(first, ofFirst), runsText(second, ofSecond)],
              figures,
              divergence,
              first: one,
              second: other,
            },
            shownPairs,
          )
        }
      />
    </article>
  )
}

/** The compared runs of a session, in words. */
function runsText({ runs }: SessionView, run: number | undefined): string {
  if (runs.length < 2) return ''
  return run === undefined ? `All ${runs.length} runs` : `Run ${run} of ${runs.length}`
}

interface SideHeadProps {
  readonly name: string
  readonly view: SessionView
  readonly run: number | undefined
  readonly onRun: (run: number | undefined) => void
}

function SideHead({ name, view, run, onRun }: SideHeadProps): JSX.Element {
  const { row, runs } = view
  const { title, from } = sideTexts(view)
  return (
    <section class="compare-head" aria-label={`${name} session`}>
      <h2>
        {name}:{' '}
        <a href={addressOf({ view: 'session', key: row.key, run: run ?? Math.max(1, runs.length), tab: 'timeline' })}>
          {title}
        </a>
      </h2>
      <p class="soft">{from}</p>
      {runs.length < 2 ? null : (
        <label>
          Runs{' '}
          <select
            value={run ?? ''}
            onChange={({ currentTarget: { value } }) => onRun(value === '' ? undefined : Number(value))}
          >
            <option value="">all {runs.length}</option>
            {runs.map(({ prompt }, index) => (
              <option key={index} value={index + 1}>
                {index + 1}: {shownText(prompt, 60)}
              </option>
            ))}
          </select>
        </label>
      )}
    </section>
  )
}

function exchange([first, second]: readonly [string, string]): void {
  const { value: shown } = route
  const [one, other] = shown.view === 'compare' ? (shown.query ?? '').replace(/^runs=/, '').split(',') : []
  const query = one === undefined || other === undefined ? undefined : `runs=${other},${one}`
  replaceRoute({ view: 'compare', keys: [second, first], ...(query === undefined ? {} : { query }) })
}

/** The compared run of each session, counted from 1; undefined for all runs. */
type ChosenRuns = readonly [number | undefined, number | undefined]

/** Parses the query: `runs=2,` means the second run of the first session, and all runs of the second. A run that does not exist means all runs. */
function chosenRuns(query: string | undefined, runs: readonly [number, number]): ChosenRuns {
  const [first = '', second = ''] = (new URLSearchParams(query).get('runs') ?? '').split(',')
  return [runOf(first, runs[0]), runOf(second, runs[1])]
}

/** The query of an address; '' when all runs are compared. */
function queryOfRuns([first, second]: ChosenRuns): string {
  return first === undefined && second === undefined ? '' : `runs=${first ?? ''},${second ?? ''}`
}

function runOf(text: string, runs: number): number | undefined {
  const run = Number(text)
  return Number.isInteger(run) && run >= 1 && run <= runs ? run : undefined
}

/** A table of the ending and totals of both sides. */
function FigureTable({ figures }: { readonly figures: readonly ComparedFigure[] }): JSX.Element {
  return (
    <table class="compare-figures numbers">
      <caption class="hidden-text">Ending and totals</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">First</th>
          <th scope="col">Second</th>
          <th scope="col">{changeTitle}</th>
        </tr>
      </thead>
      <tbody>
        {figures.map(({ name, first, second, change }) => (
          <tr key={name} data-figure={name}>
            <th scope="row">{name}</th>
            <td>{first}</td>
            <td>{second}</td>
            <td class={change === 'the same' ? 'soft' : ''}>{change}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
