import { isToolUse } from '../model/messages.ts'
import { isOfPerson, type TranscriptEntry, type UserEntry } from './transcript.ts'

/** A transcript, or a list of its entries. */
interface Entries {
  readonly length: number
  at(index: number): TranscriptEntry | undefined
}

// Spec R-VERI-4.
/**
 * Where the entries end among which the answer is: before the question to verify it, while it stands; else the end of the transcript. It stands until the
 * model calls a tool, a person says something, or the model is sent back for another answer. `start`: entries before it are not read.
 */
export function endOfAnswer(transcript: Entries, start = 0): number {
  const question = questionIn(transcript, start)
  return question !== undefined && standsBehind(transcript, question) ? question : transcript.length
}

/** Whether the model was asked to verify an answer, and that answer is still the one of the run. */
export function answerStands(transcript: Entries, start = 0): boolean {
  return endOfAnswer(transcript, start) < transcript.length
}

/** The first of the newest messages that leave the answer before them in force: those behind it ask the model to finish its reply. */
function questionIn(transcript: Entries, start: number): number | undefined {
  let question: number | undefined
  for (let index = transcript.length - 1; index >= start; index--) {
    const entry = transcript.at(index)
    if (entry?.kind !== 'user') continue
    if (entry.keepsAnswer === true) question = index
    else if (entry.origin === 'tool_results' || isOfPerson(entry)) break
  }
  return question
}

function standsBehind(transcript: Entries, question: number): boolean {
  let hasReplied = false
  let isHookHeard = false
  for (let index = question + 1; index < transcript.length; index++) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) {
      if (isHookHeard || entry.message.content.some(isToolUse)) return false
      hasReplied = true
    }
    if (entry?.kind !== 'user' || entry.origin === 'interruption') continue
    if (entry.keepsAnswer === true) hasReplied = false
    else if (entry.origin === 'tool_results' || isOfPerson(entry)) return false
    // What is said before the reply is context of the question. Behind it, it asks for another one: a hook's word does where a reply follows.
    else if (hasReplied && !isOfHook(entry)) return false
    else isHookHeard ||= hasReplied
  }
  return true
}

/** A stop hook that sends an answer back has no name on the entry. */
function isOfHook({ origin, hook }: UserEntry): boolean {
  return origin === 'hook' && hook !== undefined
}
