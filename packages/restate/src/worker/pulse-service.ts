import { service, type Context, type ServiceDefinition } from '@restatedev/restate-sdk'
import { guarded } from '../access/guard.ts'

/** The service whose calls show that the engine can write. What is kept under the name stays where it changes. */
export const pulseService = 'halting_pulse'

type PulseHandlers = {
  /** Does nothing: that the engine has taken the call is what counts. */
  readonly beat: (context: Context) => Promise<void>
}

export function pulseDefinition(tokens?: readonly string[]): ServiceDefinition<typeof pulseService, PulseHandlers> {
  return service({
    name: pulseService,
    // Nothing of a call that is over stays in the engine.
    options: { ...guarded(tokens), idempotencyRetention: 0, journalRetention: 0 },
    handlers: { beat: (): Promise<void> => Promise.resolve() },
  })
}
