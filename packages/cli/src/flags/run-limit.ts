import type { RunLimitDefault } from '@halting/agent/session-settings'

/**
 * US dollars of one run that nobody limited. A task that a person waits for costs some cents to a few dollars, and a run that goes in circles costs more
 * with each turn: this ends the second kind before anybody is hurt, and few of the first kind.
 */
const usualRunUsd = 10

/** Of `halting -p`. Programs that drive a session say their own limits. */
export const runLimitOfPrint: RunLimitDefault = { maxRunUsd: usualRunUsd, from: 'the default of -p' }
/** Of the interactive program. */
export const runLimitOfTerminal: RunLimitDefault = { maxRunUsd: usualRunUsd, from: 'the default of halting' }
