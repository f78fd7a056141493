import { Transcript } from '../transcript.ts'
import { beginningOf } from './check-records.ts'
import type { StepRecord } from './log.ts'

/** What the records of a session come to. */
export interface FoldedSession {
  /** What was said in the runs that ended. */
  readonly transcript: Transcript
  /** Records of the last run, if it did not end: `resume` goes on with it. */
  readonly open: readonly StepRecord[] | undefined
}

/**
 * Puts together the transcript of a session from the records of its runs, in order.
 * @throws ConfigurationError for what is no record of a run.
 */
export function foldSession(runs: readonly (readonly StepRecord[])[]): FoldedSession {
  let transcript = Transcript.empty()
  for (const records of runs) {
    const { start } = beginningOf(records)
    let ended = start.added.reduce((before, entry) => before.append(entry), transcript)
    let isOpen = true
    for (const record of records) {
      if (record.type === 'end' && record.scope === '') isOpen = false
      const added =
        record.type === 'lap' && record.lap.scope === ''
          ? record.lap.added
          : record.type === 'end' && record.scope === ''
            ? record.added
            : []
      for (const entry of added) ended = ended.append(entry)
    }
    if (isOpen) return { transcript, open: records }
    transcript = ended
  }
  return { transcript, open: undefined }
}
