import type { TranscriptEntry } from '@halting/core'
import { isOfPerson, textOf } from '@halting/core/adapters'
import { endOfAnswer, foldSession, type StepRecord } from '@halting/core/steps'
import { promptText } from '../view/prompt-text.ts'
import { displayTranscript, readDisplayTranscript } from '@halting/analysis/transcript'

/** The whole conversation of a stored session, in order. */
export async function readEntries(file: string): Promise<readonly TranscriptEntry[]> {
  return [...(await readDisplayTranscript(file))]
}

/** The whole conversation of these runs, in order. */
export function entriesIn(runs: readonly (readonly StepRecord[])[]): readonly TranscriptEntry[] {
  return [...displayTranscript(foldSession(runs))]
}

/** A message of the person to which the conversation can be rewound. */
export interface StoredPrompt {
  readonly id: string
  readonly text: string
}

/** The messages of the person, newest last. Those before a compaction cannot be rewound to. */
export function promptsIn(entries: readonly TranscriptEntry[]): readonly StoredPrompt[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'user' || !isOfPerson(entry)) return []
    const text = promptText(entry.message.content).trim()
    return text === '' ? [] : [{ id: entry.id, text }]
  })
}

/** The last answer of the model, without replies to a request to verify a change. */
export function lastAnswerIn(entries: readonly TranscriptEntry[]): string | undefined {
  for (const entry of entries.slice(0, endOfAnswer(entries)).toReversed()) {
    if (entry.kind !== 'assistant' || entry.error !== undefined) continue
    const text = textOf(entry.message.content).trim()
    if (text !== '') return text
  }
  return undefined
}
