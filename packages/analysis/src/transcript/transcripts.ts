import type { Transcript, ModelMessage } from '@halting/core'
import { openEntries } from './open-entries.ts'
import { foldRun, type FoldedSession, foldSession } from '@halting/core/steps'
import { redactedValue } from '@halting/core/redact'
import { readJournal } from '@halting/journal'

/** The transcript to show to a person, including an interrupted turn that no iteration has recorded. */
export function displayTranscript(folded: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (folded.open === undefined) return folded.transcript
  const run = foldRun(folded.open, folded.transcript)
  if (run.kind !== 'open') return folded.transcript
  return openEntries(run.replay).reduce((transcript, entry) => transcript.append(entry), run.state.transcript)
}

/** The recorded transcript, including that of a run that has not ended. */
export function recordedTranscript({ transcript, open }: Pick<FoldedSession, 'transcript' | 'open'>): Transcript {
  if (open === undefined) return transcript
  const folded = foldRun(open, transcript)
  return folded.kind === 'open' ? folded.state.transcript : transcript
}

/** Reads the transcript to show to a person from a session file. Records are passed through `redact` first. */
export async function readDisplayTranscript(path: string, redact?: (text: string) => string): Promise<Transcript> {
  const { runs } = await readJournal(path)
  return displayTranscript(foldSession(redact === undefined ? runs : redactedValue(runs, redact)))
}

/** Reads the recorded transcript from a session file. An interrupted turn is not included: a resume repeats it. */
export async function readRecordedTranscript(path: string): Promise<Transcript> {
  const { runs } = await readJournal(path)
  return recordedTranscript(foldSession(runs))
}

/** The first line of a transcript that contains this text, ignoring case. */
export function lineWith(transcript: Transcript, text: string): string | undefined {
  const query = text.toLowerCase()
  for (const message of transcript.messages())
    for (const part of textsOf(message)) {
      const line = part.split('\n').find((candidate) => candidate.toLowerCase().includes(query))
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
