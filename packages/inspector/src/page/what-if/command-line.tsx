import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'

/** The equivalent command, with a button to copy it; null when no limit is set. */
export function CommandLine({ line }: { readonly line: string | null }): JSX.Element | null {
  const status = useSignal('')
  if (line === null) return null
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(line)
      status.value = 'Copied.'
    } catch {
      status.value = 'This browser does not allow copying. Select the line and copy it.'
    }
  }
  return (
    <>
      <h3>Equivalent command</h3>
      <pre class="what-if-command">{line}</pre>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>{' '}
      <span role="status">{status.value}</span>
    </>
  )
}
