import type { EngineClock } from '../http/engine-clock.ts'
import type { WorkerListener } from './worker-events.ts'

/** A person sets a clock that is off by more. */
const mostOffMs = 30_000

/** Reports once when the clock of this machine is wrong, by the engine's. */
export class ClockWatch {
  readonly #clock: Pick<EngineClock, 'offsetMs'>
  readonly #report: WorkerListener
  #isReported = false

  constructor(clock: Pick<EngineClock, 'offsetMs'>, report: WorkerListener) {
    this.#clock = clock
    this.#report = report
  }

  see(): void {
    const { offsetMs } = this.#clock
    const isOff = Math.abs(offsetMs) > mostOffMs
    if (isOff && !this.#isReported)
      this.#report({
        type: 'trouble',
        level: 'warn',
        message: `The clock of this machine is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} the engine's. Sessions use the engine's time; set the clock.`,
      })
    this.#isReported = isOff
  }
}
