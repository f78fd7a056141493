import { isToolUse } from '../model/messages.ts'
import { isOfPerson, type TranscriptEntry, type UserEntry } from './transcript.ts'

/** A transcript, or a list of its entries. */
interface Entries {
  readonly length: number
  at(index: number): TranscriptEntry | undefined
}

// Spec R-VERI-4.
/**
 * The index at which the search for the run's answer ends. It precedes the request to verify the answer, while the
 * answer is still valid; otherwise it is the end of the transcript. The answer is valid until the model calls a tool, a
 * person sends a message, or the model is sent back for another answer. `start`: earlier entries are not read.
 */
export function endOfAnswer(transcript: Entries, start = 0): number {
  const requestIndex = verificationRequestIn(transcript, start)
  return requestIndex !== undefined && leavesAnswerValid(transcript, requestIndex) ? requestIndex : transcript.length
}

/** Whether the model was asked to verify an answer and that answer is still the answer of the run. */
export function isAnswerValid(transcript: Entries, start = 0): boolean {
  return endOfAnswer(transcript, start) < transcript.length
}

/** The first of the newest messages that leave the previous answer valid. Later messages only ask the model to finish its reply. */
function verificationRequestIn(transcript: Entries, start: number): number | undefined {
  let requestIndex: number | undefined
  for (let index = transcript.length - 1; index >= start; index--) {
    const entry = transcript.at(index)
    if (entry?.kind !== 'user') continue
    if (entry.keepsAnswer === true) requestIndex = index
    else if (entry.origin === 'tool_results' || isOfPerson(entry)) break
  }
  return requestIndex
}

function leavesAnswerValid(transcript: Entries, requestIndex: number): boolean {
  let hasReplied = false
  let isHookAnswered = false
  for (let index = requestIndex + 1; index < transcript.length; index++) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) {
      if (isHookAnswered || entry.message.content.some(isToolUse)) return false
      hasReplied = true
    }
    if (entry?.kind !== 'user' || entry.origin === 'interruption') continue
    if (entry.keepsAnswer === true) hasReplied = false
    else if (entry.origin === 'tool_results' || isOfPerson(entry)) return false
    // A message before the reply is part of the context of the request. A message after the reply asks for another
    // answer; a hook's message does so only if a reply follows.
    else if (hasReplied && !isOfHook(entry)) return false
    else isHookAnswered ||= hasReplied
  }
  return true
}

/** The entry of a stop hook that sends an answer back has no hook id. */
function isOfHook({ origin, hook }: UserEntry): boolean {
  return origin === 'hook' && hook !== undefined
}
