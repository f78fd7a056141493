import type { JSX } from 'preact'
import { useEffect, useRef, useMemo } from 'preact/hooks'
import { counted, elapsed, many, visible } from '@halting/analysis/words'
import type { RunOutline, SessionOutline } from '../../server/figures.ts'
import { endingColor } from '../common/colors.ts'
import { useKeys } from '../common/keys.ts'
import { shownText } from '../common/shown-text.ts'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { Tabs, type Tab } from '../common/tabs.tsx'
import { goTo, type SessionTab } from '../data/route.ts'
import { useFigures } from '../data/figures.ts'
import { source, useSession } from '../data/store.ts'
import { PictureContext } from '../picture/picture-buttons.tsx'
import { titleOf } from '../sessions/columns.tsx'
import { costWithGaps } from '../sessions/figure-text.ts'
import { WhatIfView } from '../what-if/what-if-view.tsx'
import { exitCodeOf, headline } from './ending-figures.ts'
import { TimelineTab } from './timeline-tab.tsx'
import type { RunView, SessionView } from '@halting/analysis/view'
import { PlotFigure } from '../plots/plot-figure.tsx'
import { runPlots } from '../plots/session-plots.ts'

interface SessionPageProps {
  readonly sessionKey: string
  /** Number of the run, from 1. */
  readonly run: number
  readonly tab: SessionTab
}

const tabs: readonly Tab<SessionTab>[] = [
  { id: 'timeline', label: 'Timeline', hint: 't' },
  { id: 'plots', label: 'Plots', hint: 'p' },
  { id: 'what-if', label: 'What if', hint: 'w' },
]

/** One session: its runs, and the timeline, plots and what-if of the selected run. */
export function SessionPage({ sessionKey, run, tab }: SessionPageProps): JSX.Element {
  const loaded = useSession(sessionKey)
  const wantsEnding = useRef(false)
  const count = loaded.kind === 'loaded' ? loaded.value.row.runs : run
  const show = (next: { readonly run?: number; readonly tab?: SessionTab }): void =>
    goTo({ view: 'session', key: sessionKey, run, tab, ...next })
  const toEnding = (): void => {
    // The ending is below the timeline, and is rendered after a long session has been read completely.
    wantsEnding.current = !scrollToEnding()
    if (tab !== 'timeline') show({ tab: 'timeline' })
  }
  useKeys([
    { keys: ['e'], description: 'Go to the ending', run: toEnding },
    { keys: ['['], description: 'Previous run', run: () => show({ run: Math.max(1, run - 1) }) },
    { keys: [']'], description: 'Next run', run: () => show({ run: Math.min(count, run + 1) }) },
    ...tabs.map(({ id, label, hint = '' }) => ({
      keys: [hint],
      description: `${label} of the session`,
      run: () => show({ tab: id }),
    })),
  ])
  if (loaded.kind === 'loading') return <Busy>Reading the session …</Busy>
  if (loaded.kind === 'failed') return <ErrorNote>{loaded.message}</ErrorNote>
  const view = loaded.value
  const index = Math.min(run, view.row.runs) - 1
  const chosen = view.runs[index]
  return (
    <article class="session">
      <Head view={view} run={chosen} index={index} onRun={(next) => show({ run: next })} onEnding={toEnding} />
      {chosen === undefined ? (
        view.isBeginning ? null : (
          <p>This session has no runs.</p>
        )
      ) : (
        <PictureContext.Provider value={pictureContextOf(view, chosen, index)}>
          <Tabs label="Views of the session" tabs={tabs} shown={tab} onShow={(next) => show({ tab: next })}>
            <Pane key={chosen.runId} tab={tab} view={view} index={index} wantsEnding={wantsEnding} />
          </Tabs>
        </PictureContext.Provider>
      )}
    </article>
  )
}

/** Scrolls to the ending; returns false if it is not rendered yet. */
function scrollToEnding(): boolean {
  const ending = document.querySelector('#ending')
  ending?.scrollIntoView({ block: 'start' })
  return ending !== null
}

/** Lines about every picture of a run. */
function pictureContextOf({ row, isBeginning }: SessionOutline, run: RunOutline, index: number): readonly string[] {
  return [
    titleOf(row),
    [row.program, row.sessionId, row.cwd, row.models.join(', ')].filter((text) => text !== '').join(' · '),
    `Run ${index + 1} of ${row.runs}${run.isCopy ? ', a copy' : ''}, ${isBeginning ? 'its beginning' : `ending: ${run.account.ending?.reason ?? 'none recorded'}`}.`,
  ]
}

interface PaneProps {
  readonly tab: SessionTab
  readonly view: SessionOutline
  readonly index: number
  /** Whether to scroll to the ending once it is rendered. */
  readonly wantsEnding: { current: boolean }
}

/** The figures of the run that each tab needs. */
const figures: { readonly [tab in SessionTab]: string } = {
  timeline: 'items',
  plots: 'points trajectory',
  'what-if': 'trajectory',
}

function Pane({ tab, view: outline, index, wantsEnding }: PaneProps): JSX.Element {
  const loaded = useFigures(outline, figures[tab], index)
  useEffect(() => {
    if (tab === 'timeline' && (loaded.kind === 'loading' || outline.isBeginning)) return
    if (tab === 'timeline' && wantsEnding.current) scrollToEnding()
    wantsEnding.current = false
  }, [tab, loaded])
  if (loaded.kind === 'failed') return <ErrorNote>{loaded.message}</ErrorNote>
  const view = loaded.kind === 'loaded' ? loaded.value : undefined
  const run = view?.runs[index]
  // Sums of only the beginning would be misleading.
  if (view === undefined || run === undefined || (view.isBeginning && tab !== 'timeline')) return <Busy>Reading …</Busy>
  switch (tab) {
    case 'timeline':
      return <TimelineTab sessionKey={view.row.key} index={index} run={run} isBeginning={view.isBeginning === true} />
    case 'plots':
      return <PlotsView view={view} run={run} />
    case 'what-if':
      return <WhatIfView view={view} run={run} />
  }
}

interface HeadProps {
  readonly view: SessionOutline
  readonly run: RunOutline | undefined
  readonly index: number
  readonly onRun: (run: number) => void
  readonly onEnding: () => void
}

function Head({ view, run, index, onRun, onEnding }: HeadProps): JSX.Element {
  const { row, notes, runs, isBeginning } = view
  const file = source().exportAddress(row.key)
  return (
    <header class="session-top">
      <h1>{titleOf(row)}</h1>
      <p class="soft">
        {[row.program, row.sessionId, row.cwd, row.models.join(', ')]
          .filter((text) => text !== '')
          .map((text) => visible(text))
          .join(' · ')}
      </p>
      <p class="numbers">
        {many(row.turns, 'turn')}
        {isBeginning
          ? ''
          : `, ${counted(row.tokens)} tokens, ${costWithGaps(row.costUsd, row.unpriced)}, ${elapsed(row.activeMs)}, ${many(row.calls, 'call')}${row.failedCalls > 0 ? ` (${counted(row.failedCalls)} failed)` : ''}`}
        {row.isLive ? <strong class="good"> · running</strong> : null}
        {file === null ? null : (
          <>
            {' · '}
            <a href={file} download>
              Save as one file
            </a>
          </>
        )}
      </p>
      {row.copiedRuns === 0 ? null : (
        <p class="soft">
          {counted(row.copiedRuns)} of {many(row.runs, 'run')} {row.copiedRuns === 1 ? 'is a copy' : 'are copies'} from
          another session. All runs are shown here. In the list and in totals, copies count in the other session.
        </p>
      )}
      {notes.map((note) => (
        <p key={note} class="soft">
          {visible(note)}
        </p>
      ))}
      {isBeginning ? <Busy>The session is long. This is its beginning, until all of it has been read.</Busy> : null}
      {run === undefined || isBeginning ? null : (
        <p class="session-run">
          {runs.length > 1 ? (
            <label>
              Run{' '}
              <select value={index + 1} onChange={({ currentTarget }) => onRun(Number(currentTarget.value))}>
                {runs.map(({ runId, prompt, isCopy }, number) => (
                  <option key={runId} value={number + 1}>
                    {number + 1}
                    {isCopy ? ' (a copy)' : ''}: {shownText(prompt, 60)}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
          <span class="run-ending-name" style={{ borderColor: `var(--${endingColor(exitCodeOf(run))})` }}>
            {headline(run)}
          </span>
          <button type="button" onClick={onEnding}>
            Why it ended
          </button>
        </p>
      )}
    </header>
  )
}

/** Plots of one run: its context, dollars, tokens, time and retry limits. */
function PlotsView({ run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  const plots = useMemo(() => runPlots(run), [run])
  const { unpriced } = run
  return (
    <div class="plots">
      {unpriced.length === 0 ? null : (
        <p class="note warn">No price is known for {unpriced.join(', ')}: its cost is not included in the dollars.</p>
      )}
      {plots.map((plot) => (
        <PlotFigure key={plot.name} plot={plot} />
      ))}
    </div>
  )
}
