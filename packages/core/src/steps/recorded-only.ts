import type { HaltingError } from '../values/errors.ts'
import type { Eventually } from '../values/eventually.ts'
import type { StepEngine } from './steps.ts'

/** The same steps, of which none is done anew: what is not on record as done is refused with this error, and nothing comes in from outside. */
export function recordedOnly(steps: StepEngine, error: HaltingError): StepEngine {
  const refuse = <T>(key: string, answer: () => Eventually<T>): Eventually<T> =>
    steps.peek(key) === 'done' ? answer() : Promise.reject(error)
  return {
    get replaying() {
      return steps.replaying
    },
    peek: (key) => steps.peek(key),
    abandon: (prefix) => steps.abandon(prefix),
    begin: (start) => steps.begin(start),
    run: (key, effect, options) => refuse(key, () => steps.run(key, effect, options)),
    scope: (name) => recordedOnly(steps.scope(name), error),
    beside: (name, prefix) => recordedOnly(steps.beside(name, prefix), error),
    lap: (lap) => steps.lap(lap),
    control: (key, _poll, options) => steps.control(key, () => undefined, options),
    sleep: async (key, ms, options) => refuse(key, () => steps.sleep(key, ms, options)),
    wait: async (key, options) => refuse(key, () => steps.wait(key, options)),
    end: (end) => steps.end(end),
  }
}
