import type { RunLimitDefault, WaitDefault } from '@halting/agent/session-settings'

/**
 * US dollars of one run that nobody limited. A task that a person waits for costs some cents to a few dollars, and a run that goes in circles costs more
 * with each turn: this ends the second kind before anybody is hurt, and few of the first kind.
 */
const usualRunUsd = 10

/** Of `halting -p`. Programs that drive a session say their own limits. */
export const runLimitOfPrint: RunLimitDefault = { maxRunUsd: usualRunUsd, from: 'the default of -p' }
/** Of the interactive program. */
export const runLimitOfTerminal: RunLimitDefault = { maxRunUsd: usualRunUsd, from: 'the default of halting' }

/** Where a person sees the wait and can end it, it may be as long as a service asks for, up to a day. Programs say their own. */
export const waitOfPeople: WaitDefault = {
  ms: 86_400_000,
  written: '24h',
  from: 'in the interactive program and in editors',
}
