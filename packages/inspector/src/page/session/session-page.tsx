import type { JSX } from 'preact'
import type { RunView, SessionView } from '../../view/types.ts'
import { useKeys } from '../common/keys.ts'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { Tabs, type Tab } from '../common/tabs.tsx'
import { goTo, type SessionTab } from '../data/route.ts'
import { useSession } from '../data/store.ts'
import { PlotsView } from '../plots/plots-view.tsx'
import { WhatIfView } from '../what-if/what-if-view.tsx'

interface SessionPageProps {
  readonly sessionKey: string
  /** Counts from 1. */
  readonly run: number
  readonly tab: SessionTab
}

const tabs: readonly Tab<SessionTab>[] = [
  { id: 'timeline', label: 'Timeline', hint: 't' },
  { id: 'plots', label: 'Plots', hint: 'p' },
  { id: 'what-if', label: 'What if', hint: 'w' },
]

/** One session: its runs, and of the chosen one the timeline, the plots, and what other limits would have done. */
export function SessionPage({ sessionKey, run, tab }: SessionPageProps): JSX.Element {
  const loaded = useSession(sessionKey)
  const show = (next: { readonly run?: number; readonly tab?: SessionTab }): void =>
    goTo({ view: 'session', key: sessionKey, run, tab, ...next })
  useKeys(
    tabs.map(({ id, label, hint = '' }) => ({
      keys: [hint],
      does: `${label}, of a session`,
      run: () => show({ tab: id }),
    })),
  )
  if (loaded.kind === 'loading') return <Busy>Reading the session …</Busy>
  if (loaded.kind === 'failed') return <ErrorNote>{loaded.message}</ErrorNote>
  const view = loaded.value
  const chosen = view.runs[run - 1] ?? view.runs.at(-1)
  return (
    <article>
      <h1>{view.row.title}</h1>
      {chosen === undefined ? (
        <p>It has no run.</p>
      ) : (
        <Tabs label="Views of the session" tabs={tabs} shown={tab} onShow={(next) => show({ tab: next })}>
          <Pane tab={tab} view={view} run={chosen} />
        </Tabs>
      )}
    </article>
  )
}

function Pane(props: { readonly tab: SessionTab; readonly view: SessionView; readonly run: RunView }): JSX.Element {
  const { tab, view, run } = props
  switch (tab) {
    case 'timeline':
      return <pre>{run.why}</pre>
    case 'plots':
      return <PlotsView view={view} run={run} />
    case 'what-if':
      return <WhatIfView view={view} run={run} />
  }
}
