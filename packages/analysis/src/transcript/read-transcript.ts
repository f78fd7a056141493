import type { ModelMessage, Transcript } from '@halting/core'
import { redactedValue } from '@halting/core/redact'
import { foldSession } from '@halting/core/steps'
import { readJournal } from '@halting/journal'
import { displayTranscript, recordedTranscript } from './transcripts.ts'

/** Reads the transcript to show a person from the file of a session. `redact` goes over its records first. */
export async function readDisplayTranscript(path: string, redact?: (text: string) => string): Promise<Transcript> {
  const { runs } = await readJournal(path)
  return displayTranscript(foldSession(redact === undefined ? runs : redactedValue(runs, redact)))
}

/** Reads the transcript on record from the file of a session: what a run that was cut off did comes again when it is resumed. */
export async function readRecordedTranscript(path: string): Promise<Transcript> {
  const { runs } = await readJournal(path)
  return recordedTranscript(foldSession(runs))
}

/** The first line of a transcript that contains this text, in any case. */
export function lineWith(transcript: Transcript, text: string): string | undefined {
  const wanted = text.toLowerCase()
  for (const message of transcript.messages())
    for (const part of textsOf(message)) {
      const line = part.split('\n').find((candidate) => candidate.toLowerCase().includes(wanted))
      if (line !== undefined) return line
    }
  return undefined
}

function textsOf({ content }: ModelMessage): readonly string[] {
  if (typeof content === 'string') return [content]
  return content.flatMap((block) => {
    if (block.type === 'text') return [block.text]
    if (block.type === 'tool_use') return [JSON.stringify(block.input)]
    return block.type === 'tool_result' && typeof block.content === 'string' ? [block.content] : []
  })
}
