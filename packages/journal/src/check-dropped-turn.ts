// Behind a dynamic import, as journal-rewind.ts is.
import type { Transcript, TranscriptEntry } from '@halting/core'
import { isOfPerson } from '@halting/core/adapters'
import { ResumeRejectedError } from './resume-rejected-error.ts'

/** What is taken back: all from `entries` on. The turn begins with the prompt in the place `prompt`; -1 where there is none. */
export interface Dropped {
  readonly transcript: Transcript
  readonly entries: number
  readonly prompt: number
}

// Spec R-REW-6.
/**
 * Looks at what a resume would take back: what the named prompt asked, what came of it, and what says nothing by itself, such as the mark of
 * an interruption. @throws ResumeRejectedError for anything else: another message of a person, the end of work beside the run, what belongs to the turn before.
 */
export function checkDropsTurn({ transcript, entries, prompt }: Dropped): void {
  if (transcript.length <= entries) return
  const first = prompt < 0 ? undefined : transcript.at(prompt)
  if (first?.kind !== 'user' || !isOfPerson(first))
    throw new ResumeRejectedError('the conversation has no prompt of that id.')
  if (prompt < entries) throw new ResumeRejectedError('the prompt that it names is not taken back.')
  for (const [index, entry] of transcript.since(entries).entries()) {
    const place = entries + index
    const because = place < prompt ? keptIn(entry) : place > prompt ? foreignIn(entry) : undefined
    if (because !== undefined) throw new ResumeRejectedError(`${because} would be taken back too.`)
  }
}

/** What belongs to the turn before. */
function keptIn(entry: TranscriptEntry): string | undefined {
  const said = foreignIn(entry)
  if (said !== undefined) return said
  if (entry.kind === 'assistant') return 'a reply of the turn before'
  if (entry.kind === 'user' && entry.origin === 'tool_results' && !hasFailedAlone(entry))
    return 'a result of the turn before'
  return undefined
}

/** What came into the turn from outside. */
function foreignIn(entry: TranscriptEntry): string | undefined {
  if (entry.kind === 'user' && isOfPerson(entry)) return 'another message of the person'
  const notes = entry.kind === 'user' || entry.kind === 'attachment' ? entry.tasks : undefined
  return notes?.some(({ type }) => type !== 'started') === true ? 'the end of work beside the run' : undefined
}

/** The results of calls that an interruption closed. */
function hasFailedAlone({ message: { content } }: Extract<TranscriptEntry, { readonly kind: 'user' }>): boolean {
  return (
    typeof content !== 'string' && content.every((block) => block.type !== 'tool_result' || block['is_error'] === true)
  )
}
