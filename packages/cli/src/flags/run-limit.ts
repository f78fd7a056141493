import type { RunLimitDefault, WaitDefault } from '@halting/agent/session-settings'

/**
 * Default limit of one run in US dollars. A typical task costs cents to a few dollars, and a run that repeats itself
 * costs more with each turn. The limit ends runs that repeat themselves, and few typical runs.
 */
const defaultRunUsd = 10

/** Default of `halting -p`. Programs that drive a session set their own limits. */
export const runLimitOfPrint: RunLimitDefault = { maxRunUsd: defaultRunUsd, from: 'the default of -p' }
/** Default of the interactive program. */
export const runLimitOfTerminal: RunLimitDefault = { maxRunUsd: defaultRunUsd, from: 'the default of halting' }

/** Default wait for services where a user sees the wait and can cancel it: as long as the service requests, up to a day. */
export const waitOfPeople: WaitDefault = {
  ms: 86_400_000,
  written: '24h',
  from: 'in the interactive program and in editors',
}
