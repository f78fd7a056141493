import type { JSX } from 'preact'
import type { RunView, SessionView } from '../../view/types.ts'

/** What other limits would have done with one run. */
export function WhatIfView({ run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  return <p>{run.trajectory.turns.length} turns.</p>
}
