/** Exit codes for a program ended by a signal: 128 plus the signal number. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const
