import { useSignal } from '@preact/signals'
import type { SuggestedLimit } from '@halting/core/steps'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { many } from '../../figures.ts'
import { spentText, verdictText } from '../../what-if-words.ts'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { addressOf } from '../data/route.ts'
import { listing, rows } from '../data/store.ts'
import { PlotFigure } from '../plots/plot-figure.tsx'
import { savingsPlot, stoppedBy, suggestedFor, sumsAt, valuesToTry, type LimitSums, type PastRun } from './folder.ts'
import { limitNames, limitWords, lostText, type LimitName } from './limits.ts'
import { readAll, reading, stopReading } from './reading.ts'

/** What other limits would have done with all sessions: savings against losses for each value of a limit, and the limits that lose nothing. */
export function FolderWhatIf(): JSX.Element {
  const { kind, read, of, runs, skipped } = reading.value
  const listed = listing.value
  if (listed.kind === 'failed') return <ErrorNote>{listed.message}</ErrorNote>
  return (
    <article class="folder-what-if">
      <h1>What other limits would have done</h1>
      {kind === 'reading' ? (
        <>
          <Busy>
            Reading session {read} of {of} …
          </Busy>
          <progress value={read} max={Math.max(1, of)} aria-label="Sessions read" />{' '}
          <button type="button" onClick={stopReading}>
            Stop
          </button>
        </>
      ) : (
        <p>
          {kind === 'done' ? `${many(runs.length, 'run')} of ${many(of, 'session')} were read. ` : ''}
          {kind === 'stopped' ? 'Stopped: figures of a part would mislead. ' : ''}
          <button type="button" disabled={listed.kind === 'loading'} onClick={() => void readAll()}>
            {kind === 'idle' ? `Read ${many(rows.value.length, 'session')}` : 'Read again'}
          </button>
        </p>
      )}
      {skipped.length === 0 ? null : (
        <details>
          <summary>{many(skipped.length, 'session')} could not be read</summary>
          <ul>
            {skipped.slice(0, 100).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      {kind === 'done' && runs.length > 0 ? <Tried runs={runs} /> : null}
    </article>
  )
}

function Tried({ runs }: { readonly runs: readonly PastRun[] }): JSX.Element {
  const name = useSignal<LimitName>('maxTurns')
  const sums = useSignal<readonly LimitSums[]>([])
  const chosen = useSignal<number | null>(null)
  const suggested = useMemo(() => suggestedFor(runs), [runs])
  const limit = name.value
  useEffect(() => {
    let isOver = false
    const values = valuesToTry(limit, runs, suggested)
    sums.value = []
    chosen.value = null
    const found: LimitSums[] = []
    // A value at a time: the page stays alive over thousands of sessions.
    const next = (): void => {
      if (isOver) return
      const value = values[found.length]
      if (value === undefined) sums.value = found
      else {
        found.push(sumsAt(limit, value, runs))
        setTimeout(next)
      }
    }
    next()
    return () => {
      isOver = true
    }
  }, [limit, runs])
  const plot = useMemo(() => savingsPlot(limit, sums.value, suggested), [limit, sums.value, suggested])
  return (
    <>
      <Suggested suggested={suggested} runs={runs.length} />
      <p>
        <label>
          Limit{' '}
          <select
            value={limit}
            onChange={({ currentTarget: { value } }) =>
              (name.value = limitNames.find((each) => each === value) ?? limit)
            }
          >
            {limitNames.map((each) => (
              <option key={each} value={each}>
                {limitWords[each].label}
              </option>
            ))}
          </select>
        </label>
      </p>
      <PlotFigure key={limit} plot={plot} onChoose={(index) => (chosen.value = sums.value[index]?.value ?? null)} />
      {chosen.value === null ? (
        <p class="soft">Click a place of the plot, or press Enter there: the runs that it stops are listed.</p>
      ) : (
        <Stopped name={limit} value={chosen.value} runs={runs} />
      )}
    </>
  )
}

function Suggested(props: { readonly suggested: readonly SuggestedLimit[]; readonly runs: number }): JSX.Element {
  if (props.suggested.length === 0)
    return <p>No limit would have saved anything in {many(props.runs, 'run')} without losing something.</p>
  return (
    <section aria-label="Suggested limits">
      <h2>Limits that lose nothing</h2>
      <ul>
        {props.suggested.map(({ limits, saved, stops }) => (
          <li key={JSON.stringify(limits)}>
            <strong>{limitText(limits)}</strong>: stops {many(stops, 'run')}, saves {spentText(saved)}.
          </li>
        ))}
      </ul>
    </section>
  )
}

function limitText(limits: SuggestedLimit['limits']): string {
  if (limits.noProgress === true) return '--no-progress'
  return limitNames
    .flatMap((name) => {
      const value = limits[name]
      return typeof value === 'number' ? [`${limitWords[name].label} ${limitWords[name].inWords(value)}`] : []
    })
    .join(', ')
}

interface StoppedProps {
  readonly name: LimitName
  readonly value: number
  readonly runs: readonly PastRun[]
}

/** More than these are counted and not listed. */
const mostListed = 200

function Stopped({ name, value, runs }: StoppedProps): JSX.Element {
  const stopped = useMemo(() => stoppedBy({ [name]: value }, runs), [name, value, runs])
  return (
    <section aria-label="Runs that it stops">
      <h2>
        {limitWords[name].label} {limitWords[name].inWords(value)}: stops {many(stopped.length, 'run')}
      </h2>
      <ul class="stopped-runs">
        {stopped.slice(0, mostListed).map(({ run, answer }) => (
          <li key={`${run.key} ${run.run}`}>
            <a href={addressOf({ view: 'session', key: run.key, run: run.run, tab: 'what-if' })}>
              {run.title === '' ? run.key : run.title}
            </a>
            , run {run.run}: {verdictText(answer, run.unpriced)} Saves {spentText(answer.saved)}; loses{' '}
            {lostText(answer.lost)}.
          </li>
        ))}
      </ul>
      {stopped.length > mostListed ? <p>{many(stopped.length - mostListed, 'run')} more are not listed.</p> : null}
    </section>
  )
}
