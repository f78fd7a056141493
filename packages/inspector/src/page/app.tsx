import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useKeys, bindings } from './common/keys.ts'
import { setTheme, theme, themes } from './common/theme.ts'
import { CompareView } from './compare/compare-view.tsx'
import { addressOf, goTo, route, type Route } from './data/route.ts'
import { rows, source, title } from './data/store.ts'
import { SessionPage } from './session/session-page.tsx'
import { SessionsView } from './sessions/sessions-view.tsx'
import { FolderWhatIf } from './what-if/folder-view.tsx'

/** The page; the address determines the view. */
export function App(): JSX.Element {
  const isHelpShown = useSignal(false)
  const { isExported } = source()
  useKeys([
    { keys: ['?'], description: 'Show these keys', run: () => (isHelpShown.value = true) },
    ...(isExported
      ? []
      : [
          { keys: ['s'], description: 'Show the list of sessions', run: () => goTo({ view: 'sessions' }) },
          {
            keys: ['W'],
            description: 'Show what other limits would have done in all sessions',
            run: () => goTo({ view: 'what-if' }),
          },
        ]),
  ])
  const { view } = route.value
  const only = isExported ? rows.value[0] : undefined
  useEffect(() => {
    // An exported file has one session, so there is no list to choose from.
    if (only !== undefined && view !== 'session') goTo({ view: 'session', key: only.key, run: 1, tab: 'timeline' })
  }, [only?.key, view])
  return (
    <>
      <a class="skip" href="#main" onClick={toMain}>
        Skip to the content
      </a>
      <header class="top">
        <span class="title">{title.value}</span>
        {isExported ? null : (
          <nav aria-label="Views">
            <Link to={{ view: 'sessions' }}>Sessions</Link>
            <Link to={{ view: 'what-if' }}>What if</Link>
          </nav>
        )}
        <label>
          <span class="hidden-text">Colours</span>
          <select value={theme.value} onChange={({ currentTarget }) => setTheme(chosenTheme(currentTarget.value))}>
            {themes.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-keyshortcuts="?" onClick={() => (isHelpShown.value = true)}>
          Keys
        </button>
      </header>
      <main id="main" class="view" tabIndex={-1} data-view={view}>
        <CurrentView />
      </main>
      {isHelpShown.value ? <Help onClose={() => (isHelpShown.value = false)} /> : null}
    </>
  )
}

function CurrentView(): JSX.Element {
  const current = route.value
  switch (current.view) {
    case 'sessions':
      return <SessionsView />
    case 'session':
      return <SessionPage key={current.key} sessionKey={current.key} run={current.run} tab={current.tab} />
    case 'compare':
      return <CompareView keys={current.keys} />
    case 'what-if':
      return <FolderWhatIf />
  }
}

function Link(props: { readonly to: Route; readonly children: string }): JSX.Element {
  return (
    <a href={addressOf(props.to)} aria-current={route.value.view === props.to.view ? 'page' : undefined}>
      {props.children}
    </a>
  )
}

function chosenTheme(value: string): (typeof themes)[number] {
  return themes.find((each) => each === value) ?? 'auto'
}

/** Moves the focus by script: the fragment of the address selects the view, so a link to an element would change it. */
function toMain(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

/** The keys of the current view. */
function Help(props: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={props.onClose}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {bindings.value.flat().map(({ keys, description }) => (
          <div key={`${keys.join()} ${description}`}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{keyNames[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Tab</kbd>
          </dt>
          <dd>
            Go to the next part of the page. Arrow keys move within lists, tabs, the timeline and plots. On the timeline
            and on plots + and − zoom, and 0 shows all.
          </dd>
        </div>
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}

const keyNames: { readonly [key: string]: string } = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
}
