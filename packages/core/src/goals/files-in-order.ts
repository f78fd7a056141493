import type { RunProgress } from '../state.ts'
import type { Transcript } from '../transcript.ts'
import { standingRound } from './progress.ts'

/**
 * Whether what the goals are checked by was in order when a run ended, and nothing that the agent began can have changed it since: nothing was called after
 * the last check, and nothing was left running. What has changed of it at the next prompt a person has changed.
 */
export function areFilesInOrder(spent: RunProgress, transcript: Transcript): boolean {
  const last = standingRound(spent)
  if (last === undefined || last.tampered.length > 0) return false
  if (spent.stillRunning.length > 0 || (spent.openAgents ?? []).length > 0) return false
  for (const entry of transcript)
    if (
      entry.kind === 'attachment' &&
      entry.tasks?.some((task) => task.type === 'left' && task.how === 'kept') === true
    )
      return false
  return true
}
