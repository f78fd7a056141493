import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'

/** What asks the same in a terminal, to be copied; null where nothing is asked. */
export function CommandLine({ line }: { readonly line: string | null }): JSX.Element | null {
  const told = useSignal('')
  if (line === null) return null
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(line)
      told.value = 'Copied.'
    } catch {
      told.value = 'This browser does not allow copying. Select the line and copy it.'
    }
  }
  return (
    <>
      <h3>Equivalent command</h3>
      <pre class="what-if-command">{line}</pre>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>{' '}
      <span role="status">{told.value}</span>
    </>
  )
}
