/** Exit codes of a program that a signal ended: 128 and the signal's number. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const
