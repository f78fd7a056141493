// Questions for summaries of a conversation, and the opening of a compacted conversation.

// Shortened texts.

/** Replaces the middle of a text. */
export const charactersOmitted = (count: number): string => `[... ${count} characters omitted ...]`
export const messagesOmitted = (count: number): string =>
  `[${count} ${count === 1 ? 'message' : 'messages'} omitted here.]`
export const attachedMedia = '[with an image or a document]'

// The compacted conversation.

/** The first line of the message that a compaction leaves. */
export const compactedOpening = 'This conversation was compacted:'
/** The same line in earlier versions, whose sessions can still be read. */
export const earlierOpenings: readonly string[] = ['This conversation was made shorter:']

export const compactedHeading = (messages: number, summary: string): string =>
  `${compactedOpening} this summary replaces ${messages} messages before the next ones.\n\n<summary>\n${summary}\n</summary>`
export const onlyResultsShortened = 'Only long results of the latest calls were shortened.'

/** The heading of the user's messages that a compaction copies. */
export const allUserMessages = 'All messages of the user so far, in order and verbatim:'
export const someUserMessages =
  'The messages of the user so far, in order and verbatim, except for the omissions that are marked:'
export const earlierUserMessages: readonly string[] = [
  'Everything that the person has said so far, in order and word for word:',
  'What the person has said so far, in order and word for word; where it was too much, places that were left out are marked:',
]

/** A file or a list that is copied into the compacted conversation. */
export const currentState = (title: string, text: string): string => `${title}, as of now:\n\n${text}`

/** Replaces finished work that was summarized during the run. */
export const workSummary = (messages: number, summary: string): string =>
  `[This summary replaces ${messages} messages.]\n\n<summary>\n${summary}\n</summary>`

// Questions for a summary.

export const messagesLeftOut = '[Earlier messages were omitted here to save space.]'
export const conversationContinues = '[The conversation continues from here.]'

export function summaryQuestion(instructions: string): string {
  return instructions === '' ? question : `${question}\n\nAdditional instructions from the user:\n${instructions}`
}

const question = `The conversation so far is about to be replaced by a summary, to free context space. Write that summary now. Call no tools, and answer none of the requests above.

The next model sees only your summary, the user's own messages (they are copied verbatim: do not repeat them) and the latest messages. Use these headings, and omit those that have no content:

## Task
What must be achieved, and how to tell that it is done.

## Decisions
What was decided and why, and what was rejected.

## Files
Each file that was read, changed or created: its path, what matters in it, and its state. Names, signatures and values exactly as they are.

## What failed
What was tried and did not work, with the error, so that it is not tried again.

## Open work
What is in progress, the exact step, and what comes next.

Be exact and brief. Copy identifiers, paths, commands and error messages verbatim.`

export const workQuestion =
  'Summarize the work above in at most 300 words for a model that continues it and no longer sees it: what was done and found, which files and names matter (verbatim), what failed and why. Call no tools and answer nothing else.'
export const workQuestionFor = (from: number, to: number, messages: number): string =>
  `${workQuestion}\n\nSummarize only messages ${from} to ${to} of the ${messages} above.`

// A summary without a model.

/** @param lines what was done, one a line */
export function plainSummaryText(why: string, earlier: number, lines: readonly string[]): string {
  return [
    `No summary is available (${why}). What was done, latest last:`,
    ...(earlier > 0 ? [`- (${earlier} earlier steps are not listed)`] : []),
    ...(lines.length === 0 ? ['- nothing'] : lines),
  ].join('\n')
}
export const wroteText = (text: string): string => `- wrote: ${text}`
export const calledTool = (name: string, input: string): string => `- called ${name} ${input}`

/** Why there is no summary. */
export const noSummaryReasons = {
  tooLong: 'the conversation was too long to ask for one',
  toolCall: 'the model called a tool instead',
  empty: 'the model wrote none',
  budget: 'the budget has no room for it',
  notShorter: 'it would not be shorter',
  aborted: 'aborted',
}

// Why compaction cannot help. These messages end a run.

export const fullAgain = (turns: number, times: number, window: number): string =>
  `The conversation was full again within ${turns} turns of being compacted, ${times} times in a row. Request smaller results, or use a model with a larger window (now ${window} tokens).`
/** @param tools how many tools there are; 0 where the system prompt is larger */
export function fixedPartTooLarge(tools: number, tokens: number, limit: number): string {
  const part = tools === 0 ? 'The system prompt' : tools === 1 ? 'The only tool' : `The ${tools} tools`
  return `${part} alone ${tools > 1 ? 'are' : 'is'} too large: about ${tokens} tokens are sent with every request, and only ${limit} fit. Make ${tools > 1 ? 'them' : 'it'} shorter, or use a model with a larger window.`
}
export const messageTooLarge = (tokens: number, limit: number): string =>
  `The message alone is too large: about ${tokens} tokens, and only ${limit} fit. Put long text into a file and name the file, or use a model with a larger window.`
