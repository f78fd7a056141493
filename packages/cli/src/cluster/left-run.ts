import { setTimeout as pause } from 'node:timers/promises'
import type { Interruption } from '../headless/interruption.ts'
import type { RunSession } from '../headless/run.ts'

/** So long a cluster that does not answer is waited for. Whoever ends the program kills it soon. */
const patienceMs = 1_000

/** The same run, which only a person interrupts (Ctrl-C): whatever else ends this program leaves it alone. */
export function untilLeft(run: RunSession, { signal }: Pick<Interruption, 'signal'>): RunSession & Left {
  const left = new Promise<'left'>((resolve) => {
    const look = (): void => {
      if (signal.aborted && signal.reason !== 'user') resolve('left')
    }
    signal.addEventListener('abort', look)
    look()
  })
  return {
    listen: (listener) => run.listen(listener),
    settled: () => run.settled(),
    interrupt: (options) =>
      signal.aborted && signal.reason !== 'user'
        ? { wasRunning: true, stillQueued: [], givenBack: [] }
        : run.interrupt(options),
    left,
  }
}

export interface Left {
  /** Resolves when this program is ended by something else than a person's Ctrl-C. */
  readonly left: Promise<'left'>
}

/** Lets go of a session. False where the cluster does not say in time that it has what was asked of it. */
export async function closedInTime(session: { close(): Promise<void> }): Promise<boolean> {
  const closed = session.close().then(
    () => true,
    () => false,
  )
  return Promise.race([closed, pause(patienceMs, false, { ref: false })])
}
