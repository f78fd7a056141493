import type { Transcript } from '@halting/core'
import { openEntries } from './open-entries.ts'
import { foldRun, type FoldedSession } from '@halting/core/steps'

/** The transcript to show a person: with what a turn that was cut off has on record, which no iteration has taken. */
export function displayTranscript(folded: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (folded.open === undefined) return folded.transcript
  const run = foldRun(folded.open, folded.transcript)
  if (run.kind !== 'open') return folded.transcript
  return openEntries(run.replay).reduce((said, entry) => said.append(entry), run.state.transcript)
}

/** The transcript on record, also that of a run that did not end. */
export function recordedTranscript({ transcript, open }: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (open === undefined) return transcript
  const folded = foldRun(open, transcript)
  return folded.kind === 'open' ? folded.state.transcript : transcript
}
