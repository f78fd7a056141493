import type { Transcript } from '@halting/core'
import { openEntries } from '@halting/inspector/open-entries'
import { foldRun, type FoldedSession } from '@halting/core/steps'

/** The same with what the turn has on record that was cut off: for showing, since no lap has taken it. */
export function shownIn(folded: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (folded.open === undefined) return folded.transcript
  const run = foldRun(folded.open, folded.transcript)
  if (run.kind !== 'open') return folded.transcript
  return openEntries(run.replay).reduce((said, entry) => said.append(entry), run.state.transcript)
}

/** All that is known of what was said, in a run that did not end too. */
export function saidIn({ transcript, open }: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (open === undefined) return transcript
  const folded = foldRun(open, transcript)
  return folded.kind === 'open' ? folded.state.transcript : transcript
}
