import type { Transcript } from '@halting/core'
import { foldRun, type FoldedSession } from '@halting/core/steps'

/** All that is known of what was said, in a run that did not end too. */
export function saidIn({ transcript, open }: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (open === undefined) return transcript
  const folded = foldRun(open, transcript)
  return folded.kind === 'open' ? folded.state.transcript : transcript
}
