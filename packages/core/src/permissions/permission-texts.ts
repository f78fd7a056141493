// Reasons for a denial that no rule states: answers of people, hooks and callbacks.

/** When a person denies a call without a reason. */
export const deniedByUser = 'The user denied this call.'
/** When a person denies a call and says what to do instead. */
export const deniedWithInstructions = (instructions: string): string =>
  `The user denied this call and gave other instructions: ${instructions}`
/** When the person did not answer an AskUserQuestion form. */
export const userDidNotAnswer = 'The user did not answer this question.'
/** When the person ended the run while a question was open. */
export const userStoppedRun = 'The user stopped the run instead of answering.'
/** When a hook denies a call without a reason. */
export const deniedByHook = 'A hook denied this call.'
export const noAnswerInTime = (seconds: number): string =>
  `Denied: nobody answered the permission request within ${seconds} s. Continue without this call.`
/** When nobody could be asked for permission, with the reason. */
export const cannotAsk = (problem: string): string => `Denied: nobody could be asked for permission: ${problem}`
export const requestWithdrawn = 'Denied: the permission request was withdrawn.'
export const invalidAnswer = (problem: string): string =>
  `Denied: the answer to the permission request is invalid: ${problem}.`
export const permissionsNotSaved = (problem: string): string =>
  `Denied: the permissions could not be changed: ${problem}`

/** When permission rules of a program returned an invalid value or threw. */
export const rulesFailed = (problem: string): string => `Denied: the permission rules failed: ${problem}`
export const noDecision =
  "Denied: the permission rules returned an invalid decision (expected { behavior: 'allow' | 'deny' | 'ask' })."
export const invalidDenial = 'Denied: the deny rules returned neither a string nor undefined.'

// Problems of an answer, for `invalidAnswer`.

export const wrongBehavior = 'its behavior must be allow or deny'
export const wrongUpdates = (problem: string): string => `updatedPermissions: ${problem}`
export const unknownMode = (mode: string, modes: readonly string[]): string =>
  `there is no mode ${mode} (${modes.join(', ') || 'none'})`
