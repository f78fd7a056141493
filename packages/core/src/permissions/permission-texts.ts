// Why a call is denied where no rule says it: answers of people, hooks and callbacks.

/** Where a person denies a call without a reason. */
export const deniedByUser = 'The user denied this call.'
/** Where a person denies a call and says what to do instead. */
export const deniedWithInstructions = (instructions: string): string =>
  `The user denied this call and gave other instructions: ${instructions}`
/** The person left a form of AskUserQuestion open. */
export const userDidNotAnswer = 'The user did not answer this question.'
/** The person ended the run while a question was open. */
export const userStoppedRun = 'The user stopped the run instead of answering.'
/** Where a hook denies a call without a reason. */
export const deniedByHook = 'A hook denied this call.'
export const noAnswerInTime = (seconds: number): string =>
  `Denied: nobody answered the permission request within ${seconds} s. Continue without this call.`
/** Nobody could be asked for permission, and why. */
export const cannotAsk = (problem: string): string => `Denied: nobody could be asked for permission: ${problem}`
export const requestWithdrawn = 'Denied: the permission request was withdrawn.'
export const invalidAnswer = (problem: string): string =>
  `Denied: the answer to the permission request is invalid: ${problem}.`
export const permissionsNotSaved = (problem: string): string =>
  `Denied: the permissions could not be changed: ${problem}`

/** What permission rules of a program returned or threw. */
export const rulesFailed = (problem: string): string => `Denied: the permission rules failed: ${problem}`
export const noDecision =
  "Denied: the permission rules returned an invalid decision (expected { behavior: 'allow' | 'deny' | 'ask' })."
export const invalidDenial = 'Denied: the deny rules returned neither a string nor undefined.'

// What is wrong with an answer, for `invalidAnswer`.

export const wrongBehavior = 'its behavior must be allow or deny'
export const wrongUpdates = (problem: string): string => `updatedPermissions: ${problem}`
export const unknownMode = (mode: string, modes: readonly string[]): string =>
  `there is no mode ${mode} (${modes.join(', ') || 'none'})`
