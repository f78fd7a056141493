import type { JSX } from 'preact'
import { VirtualList } from '../common/virtual-list.tsx'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { goTo } from '../data/route.ts'
import { listing, rows } from '../data/store.ts'

/** The list of sessions. */
export function SessionsView(): JSX.Element {
  const shown = rows.value
  const open = (index: number): void => {
    const row = shown[index]
    if (row !== undefined) goTo({ view: 'session', key: row.key, run: Math.max(1, row.runs), tab: 'timeline' })
  }
  return (
    <>
      <h1>Sessions</h1>
      {listing.value.kind === 'loading' ? <Busy>Reading sessions …</Busy> : null}
      {listing.value.kind === 'failed' ? <ErrorNote>{listing.value.message}</ErrorNote> : null}
      <VirtualList
        label="Sessions"
        count={shown.length}
        rowRem={2}
        row={(index) => shown[index]?.title}
        selected={null}
        onSelect={open}
      />
    </>
  )
}
