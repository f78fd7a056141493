import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { bindings } from './keys.ts'

/** What keys do in what is shown now. */
export function Help(props: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={props.onClose}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {bindings.value.flat().map(({ keys, does }) => (
          <div key={`${keys.join()} ${does}`}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{keyNames[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
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
