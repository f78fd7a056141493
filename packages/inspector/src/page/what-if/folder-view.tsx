import type { JSX } from 'preact'
import { rows } from '../data/store.ts'

/** What other limits would have done with all sessions. */
export function FolderWhatIf(): JSX.Element {
  return <p>{rows.value.length} sessions.</p>
}
