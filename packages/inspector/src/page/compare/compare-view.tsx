import type { JSX } from 'preact'
import { ErrorNote } from '../common/notes.tsx'
import { useSession } from '../data/store.ts'

/** Two sessions side by side. */
export function CompareView({ keys }: { readonly keys: readonly [string, string] }): JSX.Element {
  const loaded = keys.map((key) => useSession(key))
  const failed = loaded.find((each) => each.kind === 'failed')
  if (failed?.kind === 'failed') return <ErrorNote>{failed.message}</ErrorNote>
  return <h1>{loaded.map((each) => (each.kind === 'loaded' ? each.value.row.title : '…')).join(' and ')}</h1>
}
