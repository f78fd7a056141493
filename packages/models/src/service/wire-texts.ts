// Placeholders in requests: content that a protocol cannot carry, or only elsewhere.

export const imageOmitted = '[An image was omitted: it cannot be sent to this model.]'
export const documentOmitted = (title: string): string =>
  `[A document${title === '' ? '' : ` ("${title}")`} was omitted: it cannot be sent to this model.]`

// Images and files of results, in a user message that follows.

export const imageFollows = '[The image follows below.]'
export const imagesOfResult = (callId: string): string => `Images in the result of call ${callId}:`
export const filesFollow = (count: number): string =>
  count === 1 ? '[The file of this result follows below.]' : `[The ${count} files of this result follow below.]`
export const filesOfResult = (tool: string, callId: string): string => `Files in the result of ${tool} (${callId}):`
/** Separates a result from a user message, where these may not be adjacent. */
export const resultsReceived = 'I have the results.'

/** An image or a file that the model itself created. */
export const createdEarlier = (kind: 'image' | 'file'): string => `[The ${kind} that you created earlier:]`
