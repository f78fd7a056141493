import { ConfigurationError } from '../values/errors.ts'
import type { RunEvent } from '../state/events.ts'
import type { RunOptions } from '../api/options.ts'
import { replay } from '../api/resume.ts'
import { foldSession, runsOf } from '../steps/fold-session.ts'
import type { StepRecord } from '../steps/log.ts'

/**
 * The events of the last run of a session, from its record: nothing is asked or run again. Of a run that is open, those before the turn that is open: what
 * `resume` reports follows them without a gap.
 * @param records All records of the session, in their order.
 * @param options Those that the run was started with.
 * @throws ConfigurationError for records of no run, and for records whose past turns were folded into one.
 */
export async function recordedEvents(
  records: readonly StepRecord[],
  options: RunOptions,
): Promise<readonly RunEvent[]> {
  const runs = runsOf(records)
  const last = runs.at(-1)
  if (last === undefined) throw new ConfigurationError('These are no records of a session: there is no run in them.')
  if (last.some((record) => record.type === 'lap' && record.folds !== undefined))
    throw new ConfigurationError(
      'The past turns of this run were folded: their events cannot be told again. Read its messages instead.',
    )
  const { transcript } = foldSession(runs.slice(0, -1))
  const { events } = await replay(last, options, transcript)
  const isOver = last.some((record) => record.type === 'end' && record.scope === '')
  return isOver ? events : events.slice(0, openTurnIn(events, last))
}

/** Where the events of the open turn begin. A replay makes up an end for what is not on record. */
function openTurnIn(events: readonly RunEvent[], records: readonly StepRecord[]): number {
  let laps = records.filter((record) => record.type === 'lap' && record.lap.scope === '').length
  for (const [index, { type }] of events.entries()) {
    if (laps === 0 && type !== 'run_start' && type !== 'message') return index
    if (type === 'lap') laps--
    if (type === 'lap' && laps === 0) return index + 1
  }
  return events.length
}
