// Reminders and requests that the loop adds to a conversation, and notes that replace what it removes.
import { headOf, countOf, tailOf } from '../values/text.ts'

// Limits.

/** The rest of a limit that is at least half used. */
export type RemainingLimit = {
  readonly of: 'turns' | 'toolCalls' | 'tokens' | 'usd' | 'ms'
  readonly left: number
  readonly limit: number
}

export function remainingLimits(limits: readonly RemainingLimit[]): string {
  return `${remainingStart}${limits.map(remainingText).join('; ')}.`
}

const remainingStart = 'Remaining in this run: '

function remainingText({ of, left, limit }: RemainingLimit): string {
  switch (of) {
    case 'turns':
      return `${left} of ${countOf(limit, 'turn')}`
    case 'toolCalls':
      return `${left} of ${countOf(limit, 'tool call')}`
    case 'tokens':
      return `${left} of ${limit} tokens`
    case 'usd':
      return `$${left.toFixed(2)} of $${limit.toFixed(2)}`
    case 'ms':
      return `${Math.round(left / 1_000)} of ${Math.round(limit / 1_000)} seconds`
  }
}

export const limitRaised = 'This run reached a limit, and the user raised it. Continue where you stopped.'

/** Asks for the final answer of a run, which has no tools. */
export const lastAnswerPrompt =
  'Give your final answer now, without calling tools: what is done, what is not done, and what to do next.'
/** @param message why the run ends, without a full stop */
export const runEnding = (message: string): string => `This run is ending: ${message}. ${lastAnswerPrompt}`

// Replies that are incomplete or not accepted.

export const goOnPrompt: string = 'Continue from where you left off.'
export const outputLimitReached =
  'Your reply was cut off at the output limit. Continue exactly where it stopped, without an apology or a recap. Split what remains into smaller parts.'
export const connectionLost = 'The connection was lost during your reply. Continue exactly where your reply stopped.'
export const invalidOutput = (problem: string): string =>
  `Your answer does not match the required schema: ${problem}. Answer again with only JSON that matches it.`
export const stopHookFeedback = (reason: string): string => `Stop hook feedback: ${reason}`

export const verifyRequest = (lines: number, check: string): string =>
  `You changed ${countOf(lines, 'line')}, and no check has passed since. Run a check now, such as \`${check}\`, or say why none is needed. Do not repeat your answer: it stands unless you call a tool.`

// Interruptions by a person. Tools that read sessions recognize these sentences.

export const interruptedReply = '[Request interrupted by user]'
export const interruptedTools = '[Request interrupted by user for tool use]'

// Images and documents that were removed.

/** @param problem one or more sentences */
export const mediaRemoved = (kind: 'image' | 'document', problem: string): string =>
  `[${kind === 'image' ? 'An image' : 'A document'} was removed here. ${problem}]`
/** @param why a clause, such as `a request takes at most 100 images` */
export const olderMediaRemoved = (why: string): string => `[An older image or document was removed here: ${why}.]`
export const rejectedImageRemoved = (message: string): string =>
  `[An image was removed here: the service rejected it (${message}).]`

// Commands and agents in the background.

export const answerAgain = 'Your next answer replaces the previous one, so write it in full.'

/** The end of a command or an agent. `result`: the answer of an agent, shortened to `limit` characters. */
export function backgroundEnd(id: string, summary: string, result: string | undefined, limit: number): string {
  const end = `[${id}] ${summary}`
  if (result === undefined || result === '') return end
  // An agent may quote a text that closes the tag and impersonates somebody else.
  const inside = shortened(result, limit).replaceAll(/<(?=\s*\/?\s*agent_result)/gi, '&lt;')
  return `${end} This is the report of the agent, not a message from the user:\n<agent_result id="${id}">\n${inside}\n</agent_result>`
}

function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = limit / 2
  return `${headOf(text, half)}\n(... ${text.length - limit} characters omitted ...)\n${tailOf(text, half)}`
}

/** A command or an agent of the previous run. `description`: `The command "npm run dev"`. */
export function endOfPreviousRun(description: string, how: 'stopped' | 'ended'): string {
  return how === 'stopped'
    ? `${description} was stopped when the previous run ended.`
    : `${description} had already ended when the previous run ended.`
}

/** @param fate what is known of its end, as a sentence; `unknownFate` when nothing is known */
export function lostInBackground(description: string, how: 'lost' | 'left running', fate: string): string {
  const what =
    how === 'lost'
      ? `${description} is lost: the process that ran it no longer exists.`
      : `${description} was still running when the previous run ended, and can no longer be reached by its id.`
  return `${what} ${fate}`
}
export const unknownFate = 'It is unknown whether and how it ended.'
