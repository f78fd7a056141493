import {
  createMemorySteps,
  streamRun,
  startRun,
  type RunOptions,
  type StartOptions,
  type StepRecord,
} from '../../src/index.ts'
import { json } from './harness.ts'

/** A process that died: what is left is what was on record. */
class Died extends Error {}

/** Runs until a record is about to be written that `isFatal` knows, and gives the records of that moment, as JSON. */
export async function killedBefore(
  isFatal: (record: StepRecord, count: number) => boolean,
  options: RunOptions,
  start: StartOptions = { prompt: 'go' },
): Promise<readonly StepRecord[]> {
  const records: StepRecord[] = []
  let dead = false
  await new Promise<void>((resolve) => {
    const steps = createMemorySteps({
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      onRecord: (record) => {
        if (dead || isFatal(record, records.length)) {
          dead = true
          resolve()
          throw new Died()
        }
        // A record is JSON: what comes back is what a file would give.
        records.push(json(record) as unknown as StepRecord)
      },
    })
    void streamRun(startRun(start), { ...options, steps }).result.then(() => resolve())
  })
  return records
}

/** The process died before the lap that would have put the open turn behind it. */
export const killedBeforeLap = (
  number: number,
  options: RunOptions,
  start?: StartOptions,
): Promise<readonly StepRecord[]> => {
  let laps = 0
  return killedBefore((record) => record.type === 'lap' && record.lap.scope === '' && ++laps === number, options, start)
}

/** The process died when so much was on record. */
export const killedAfter = (count: number, options: RunOptions, start?: StartOptions): Promise<readonly StepRecord[]> =>
  killedBefore((_record, written) => written === count, options, start)
