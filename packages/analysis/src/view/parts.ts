import { changeLines } from './change-lines.ts'
import { jsonText } from '../words/json-text.ts'
import { plainText, partsOfMessages, type Part } from './session-transcript.ts'
import type { InspectedSession } from './inspected-session.ts'
import type { CallPart, TranscriptPart } from './types.ts'

/** The transcript of one run of a session for the page. Runs count from 0. */
export function transcriptParts({ runs }: Pick<InspectedSession, 'runs'>, run: number): readonly TranscriptPart[] {
  return pageParts(partsOfMessages(runs, run))
}

/** Converts parts for the page. */
export function pageParts(parts: readonly Part[]): readonly TranscriptPart[] {
  return parts.map(pagePart)
}

/** Keys that identify parts of a transcript: a reply by its message, a call by its id, user input by its id. */
export const replyKey = (messageId: string): string => `reply ${messageId}`
export const callKey = (callId: string): string => `call ${callId}`
export const inboxKey = (inboxId: string): string => `inbox ${inboxId}`
/** Rounds of checks are identified by request and place. */
export const roundKey = (request: number, place: string): string => `round ${request} ${place}`
/** Waits for services and pauses are identified by the name of their step. */
export const waitKey = (name: string): string => `wait ${name}`
/** Compactions are identified by their index. */
export const compactionKey = (before: number): string => `compaction ${before}`

/** The parts of a run, and their positions by key. For a call id that was reused, the last call wins. */
export function keyedParts(
  runs: InspectedSession['runs'],
  run: number,
): { readonly parts: readonly Part[]; readonly places: ReadonlyMap<string, number> } {
  const places = new Map<string, number>()
  let compactions = 0
  const parts = partsOfMessages(runs, run, (entry, place) => {
    if (entry.kind === 'assistant') places.set(replyKey(entry.message.id), place)
    if (entry.kind === 'goal_round') places.set(roundKey(entry.round.request, entry.round.place), place)
    if (entry.kind === 'wait') places.set(waitKey(entry.name), place)
    if (entry.kind === 'user' && entry.inboxId !== undefined) places.set(inboxKey(entry.inboxId), place)
    // A replacement by a hook is not a compaction step.
    if (entry.kind === 'compact_boundary' && entry.trigger !== 'hook') places.set(compactionKey(compactions++), place)
  })
  for (const [place, part] of parts.entries()) {
    if (part.kind !== 'call') continue
    places.set(callKey(part.callId), place)
  }
  return { parts, places }
}

function pagePart(part: Part): TranscriptPart {
  switch (part.kind) {
    case 'person':
      return { kind: 'person', by: part.by, text: plainText(part.content) }
    case 'answer':
    case 'thinking':
    case 'note':
    case 'check':
      return part
    case 'call': {
      const { callId, name, input, result, isError, durationMs, agent } = part
      const shownPart: CallPart = {
        kind: 'call',
        callId,
        name,
        input: jsonText(input),
        result: result === undefined ? null : plainText(result),
        isError,
        durationMs: durationMs ?? null,
        changes: changeLines(part),
        agent: agent.map(pagePart),
      }
      return shownPart
    }
  }
}
