// Why a tried command has to run again, and what the model reads about it.

// Ends of sentences, for the question to the user.

export const interruptedTrial = 'it was interrupted'
export const trialTimedOut = (ms: number): string => `it did not end within ${ms} ms`
export const trialNotStarted = (why: string): string => `it could not be tried (${why})`
export const endedBySignal = 'it was ended by a signal'
export const refusedInTrial = (line: string): string => `something was refused (${line})`
export const missedInTrial = (path: string): string => `it reads ${path}`

// Results of the Bash tool.

export const ranInTrial =
  'The command ran confined: no network, and no files outside the project and the system. If that is why it failed, call again with "unconfined": true, and the person is asked.'
/** @param why the end of a sentence */
export const notRunAfterTrial = (why: string): string =>
  `The command did not run: it may run without a question only if it has no effects, and ${why}. Call it again: the person is asked then.`
