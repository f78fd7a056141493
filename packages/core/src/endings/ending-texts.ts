// Why a run ended: the message of its stop signal. People read it in every frontend; models read it in the request for a
// last answer and in results of agents. No full stop at the end: surrounding texts add one.

// The model answered, or did not.

export const answeredUnverified = (ending: string): string =>
  `The model gave its answer, and was asked to verify its last change; ${ending}`
export const answered = 'The model gave its answer'
export const lastAnswerGiven = 'The last answer was given'
export const noAnswer = (replies: number): string =>
  `The model gave no answer: ${replies === 1 ? 'its reply contains no text' : `none of its ${replies} replies contains text`}`
export const refused = 'The model refused to answer'
export const schemaMismatch = (problem: string): string => `The answer does not match the output schema: ${problem}`
export const cutRepeatedly = (limit: number): string => `The reply was cut at ${limit} output tokens repeatedly`
export const tooLongForWindow = (limit: number): string =>
  `The reply is longer than the ${limit} tokens that the context window leaves for it.`
export const tooLongForModel = (limit: number): string =>
  `The reply is longer than the model's output limit of ${limit} tokens.`
export const pausedTooOften = 'The service paused the turn more often than allowed.'
export const retryLater = (failure: string, retryAt: string): string =>
  `${failure}. It takes requests again at ${retryAt}.`
export const runFailed = (error: string): string => `The run failed: ${error}`

// Somebody or something stopped it.

export const readerLeft = 'The program reading the run disconnected'
export const interruptedByUser = 'Interrupted by the user'
export const interruptedByMessage = 'Interrupted by a new message'
export const parentAborted = 'The parent run was aborted'
export const stoppedBy = (hook: string): string => `Stopped by ${hook}`
export const waitingForApproval = (tools: string): string => `Waiting for approval: ${tools}`
export const toolWasCalled = (tool: string): string => `The tool ${tool} was called`
export const finishReasonReceived = (finishReason: string): string => `Finish reason received: ${finishReason}`

// A limit is reached.

export const turnLimit = (limit: number): string => `Reached maximum number of turns (${limit})`
export const callLimit = (limit: number, refused: number): string =>
  `Reached maximum number of tool calls (${limit}); ${refused === 1 ? 'the model requested another call' : `${refused} further calls were requested`}`
export const stepLimitReached = (used: number, limit: number): string => `Step limit reached: ${used}/${limit}`
export const tokenLimitReached = (used: number, limit: number): string => `Token limit reached: ${used}/${limit}`
export const timeLimitReached = (used: string, limit: string): string => `Time limit reached: ${used}/${limit} s`
export const dollarLimit = (limit: number): string => `Reached maximum budget ($${limit})`
export const runDollarLimit = (limit: number): string => `Reached the dollar limit of the run ($${limit})`
export const tokensUsedUp = (used: number, limit: number, how: string): string =>
  `Token limit reached: ${used}/${limit}; ${how}`
export const replyCutToRest = 'the reply was cut to what was left'
export const limitLowered = 'the limit was lowered below what is used'
export const repeatedCalls = (turns: number, times: number): string =>
  `No progress: ${turns === 1 ? 'The same tool calls' : `A cycle of ${turns} turns`} with the same results ${times} times in a row`

// The next request does not fit.

export const sharedBudget = 'the budget that is shared with other sessions'
export const leaseUsedUp = (
  budget: string,
  used: string,
  needed: string | undefined,
  reserved?: { readonly usd: string; readonly holders: number },
): string => {
  const next = needed === undefined ? '' : `, and the next request may cost up to ${needed}`
  if (reserved === undefined) return `Nothing is left of ${budget}: this session has used ${used}${next}`
  const others = reserved.holders === 1 ? '1 other session' : `${reserved.holders} other sessions`
  return `Too little is left of ${budget}: this session has used ${used}${next}. ${reserved.usd} of it is reserved by ${others}`
}
export const sharedUsedUp = (budget: string, used: string, needed: string | undefined): string =>
  needed === undefined
    ? `The reply was cut to what was left of ${budget}: ${used} is used by all runs that share it`
    : `Too little is left of ${budget}: ${used} is used by all runs that share it, and the next request may ${needed}`
export const standingUsedUp = (budget: string, used: string, needed: string, resetsAt: string): string =>
  `Too little is left of ${budget}: ${used} is used, and the next request may cost up to ${needed}. It resets at ${resetsAt}`
export const someStandingBudget = 'a standing budget'
export const cutAtStanding = (budget: string, resetsAt: string | undefined): string =>
  `The reply was cut to what was left of ${budget}${resetsAt === undefined ? '' : `. It resets at ${resetsAt}`}`
export const limitName = (isOfRun: boolean, limit: number): string =>
  isOfRun ? `the dollar limit of the run, $${limit}` : `a budget of $${limit}`
export const mayCost = (needed: string): string => `cost up to ${needed}`
export const nothingFits = (limit: string, needed: string, isWithLastAnswer: boolean): string =>
  `${isWithLastAnswer ? 'A turn and a last answer do not fit' : 'No request fits'} ${limit}: ${isWithLastAnswer ? 'together they' : 'the first one'} may ${needed}`
export const nextDoesNotFit = (reached: string, used: string, needed: string): string =>
  `${reached}: ${used} is used, and the next request may cost up to ${needed}`
export const nextTokensDoNotFit = (used: number, limit: number, needed: number): string =>
  `Token limit reached: ${used}/${limit} used, and the next request may need ${needed}`

// The context window.

export const windowFilled = "The conversation filled the model's context window."
export const compactionUseless =
  'Compacting the conversation again would not make room: the context filled up again at once.'
export const promptTooLong = (used: number, limit: number): string =>
  `Prompt is too long: about ${used} tokens, and ${limit} fit. Compact the conversation or start a new one.`
export const compactionFailed = 'The conversation could not be compacted.'
export const compacted = 'The conversation was compacted.'
export const nothingToCompact = 'There is nothing to compact yet.'

// Stop hooks and goals.

export const hookUnmet = (hook: string, how: string, reason: string): string =>
  `The stop hook ${hook} ${how}: ${reason}`
export const blockedAgain = (repeats: number): string =>
  `blocked the answer ${repeats} times for the same reason, and nothing changed in between`
export const blocksFinally = 'blocks the answer, and may not send it back'
export const blocksStill = (sentBack: string): string =>
  `still blocks the answer, which was sent back ${sentBack} in a row`
export const goalAlreadyMet = 'The goal is already met, so the model was not asked'
export const goalMet = 'The goal is met'
export const goalMetAtLimit = (ending: string): string => `The goal is met; ${ending}`
export const goalNotMet = (cause: string, why: string): string => `The goal is not met${cause}: ${why}`
export const notChecked = 'it was not checked'
export const afterTries = (tries: string): string => ` after ${tries}`
export const afterTriesStalled = (tries: string): string => ` after ${tries}, and nothing changes`
export const answerWithoutCall = ', and the answer called no tool'
export const agentsStillWork = ', because agents are still working'
export const guardEndedRun = ' by the answer at which a guard ended the run'
export const goalFilesRead = 'The files of the goals were inspected.'
export const checksChangedFiles = (files: string): string => `The checks changed ${files}.`
