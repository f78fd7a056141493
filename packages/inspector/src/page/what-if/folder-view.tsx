import { useSignal } from '@preact/signals'
import type { Calibration, GradedTrajectory, SuggestedLimit } from '@halting/analysis'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { many, visible, copiesLeftOut } from '@halting/analysis/words'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { addressOf } from '../data/route.ts'
import { listingState, rows } from '../data/store.ts'
import { PlotFigure } from '../plots/plot-figure.tsx'
import { Calibrated } from './calibrated.tsx'
import { Select } from './select.tsx'
import {
  savingsPlot,
  stoppedBy,
  suggestedFor,
  sumsAt,
  valuesToTry,
  type LimitSums,
  type PastRun,
  type StoppedRun,
} from './folder.ts'
import { pictureOfFolder } from './folder-picture.ts'
import { nothingSuggested, runName, stoppedText, stoppedTitle, suggestedText } from './folder-words.ts'
import { limitNames, limitWords, type LimitName } from './limits.ts'
import { readAll, reading, stopReading } from './read-runs.ts'

/** What-if over all sessions: savings and losses for each value of a limit, and the limits without losses. */
export function FolderWhatIf(): JSX.Element {
  const { kind, read, of, runs, graded, copies, skipped } = reading.value
  const listed = listingState.value
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
          {kind === 'done' ? `${readText(runs.length, of, copies)} ` : ''}
          {kind === 'stopped' ? 'Stopped. Figures of only some sessions would be misleading, so none are shown. ' : ''}
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
              <li key={text}>{visible(text)}</li>
            ))}
          </ul>
        </details>
      )}
      {kind === 'done' && runs.length > 0 ? (
        <LimitEffects runs={runs} graded={graded} read={readText(runs.length, of, copies)} />
      ) : null}
    </article>
  )
}

function readText(runs: number, sessions: number, copies: number): string {
  return `${many(runs, 'run')} of ${many(sessions, 'session')} were read. ${copiesLeftOut(copies)}`.trim()
}

interface LimitEffectsProps {
  readonly runs: readonly PastRun[]
  readonly graded: readonly GradedTrajectory[]
  readonly read: string
}

function LimitEffects({ runs, graded, read }: LimitEffectsProps): JSX.Element {
  const name = useSignal<LimitName>('maxTurns')
  const sums = useSignal<readonly LimitSums[]>([])
  const chosen = useSignal<number | null>(null)
  const calibration = useSignal<Calibration | null>(null)
  const suggested = useMemo(() => suggestedFor(runs), [runs])
  const limit = name.value
  useEffect(() => {
    let isOver = false
    const values = valuesToTry(limit, runs, suggested)
    sums.value = []
    chosen.value = null
    const found: LimitSums[] = []
    // One value at a time, so that the page stays responsive with thousands of sessions.
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
  const tried = chosen.value
  const stopped = useMemo(() => {
    if (tried === null) return null
    const found = stoppedBy({ [limit]: tried }, runs)
    return { title: stoppedTitle(limit, tried, found.length), stopped: found }
  }, [limit, tried, runs])
  return (
    <>
      <Calibrated runs={graded} onShow={(shown) => (calibration.value = shown)} />
      <Suggested suggested={suggested} runs={runs.length} />
      <Select
        label="Limit"
        value={limit}
        options={limitNames.map((each) => [each, limitWords[each].label])}
        onChoose={(value) => (name.value = limitNames.find((each) => each === value) ?? limit)}
      />
      <PlotFigure
        key={limit}
        plot={plot}
        onChoose={(index) => (chosen.value = sums.value[index]?.value ?? null)}
        pictureOf={(shown, seen, hidden) =>
          pictureOfFolder({
            read,
            runs: runs.length,
            suggested,
            calibration: calibration.value,
            plot: shown,
            seen,
            hidden,
            chosen: stopped,
          })
        }
      />
      {stopped === null ? (
        <p class="soft">Click a value in the plot, or press Enter on it, to list the runs that it would stop.</p>
      ) : (
        <Stopped {...stopped} />
      )}
    </>
  )
}

function Suggested(props: { readonly suggested: readonly SuggestedLimit[]; readonly runs: number }): JSX.Element {
  if (props.suggested.length === 0) return <p>{nothingSuggested(props.runs)}</p>
  return (
    <section aria-label="Suggested limits">
      <h2>Limits that lose nothing</h2>
      <ul>
        {props.suggested.map((each) => {
          const { limit, effect } = suggestedText(each)
          return (
            <li key={limit}>
              <strong>{limit}</strong>: {effect}.
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** The maximum number of listed runs; more are counted. */
const maxListed = 200

function Stopped({ title, stopped }: { readonly title: string; readonly stopped: readonly StoppedRun[] }): JSX.Element {
  return (
    <section aria-label="Runs that this limit would stop">
      <h2>{title}</h2>
      <ul class="stopped-runs">
        {stopped.slice(0, maxListed).map(({ run, answer }) => (
          <li key={`${run.key} ${run.run}`}>
            <a href={addressOf({ view: 'session', key: run.key, run: run.run, tab: 'what-if' })}>{runName(run)}</a> ·{' '}
            {stoppedText({ run, answer })}
          </li>
        ))}
      </ul>
      {stopped.length > maxListed ? <p>{many(stopped.length - maxListed, 'more run')} not listed.</p> : null}
    </section>
  )
}
