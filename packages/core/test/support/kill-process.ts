import {
  createMemorySteps,
  streamRun,
  startRun,
  type RunOptions,
  type StartOptions,
  type StepRecord,
} from '../../src/index.ts'
import { json } from './harness.ts'

/** A process that died: only its record is left. */
class Died extends Error {}

/** Runs until a record is about to be written that matches `isFatal`, and returns the records up to then, as JSON. */
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
        // A record is JSON: it returns as from a file.
        records.push(json(record) as unknown as StepRecord)
      },
    })
    void streamRun(startRun(start), { ...options, steps }).result.then(() => resolve())
  })
  return records
}

/** The process died before the iteration that would have closed the open turn. */
export const killedBeforeIteration = (
  number: number,
  options: RunOptions,
  start?: StartOptions,
): Promise<readonly StepRecord[]> => {
  let iterations = 0
  return killedBefore(
    (record) => record.type === 'lap' && record.lap.scope === '' && ++iterations === number,
    options,
    start,
  )
}

/** The process died when this many records were written. */
export const killedAfter = (count: number, options: RunOptions, start?: StartOptions): Promise<readonly StepRecord[]> =>
  killedBefore((_record, written) => written === count, options, start)
