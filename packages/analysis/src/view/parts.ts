import { changeLines } from './change-lines.ts'
import { jsonText } from '../words/json-text.ts'
import { plainText, partsOfMessages, type Part } from './session-transcript.ts'
import type { InspectedSession } from './inspected-session.ts'
import type { CallPart, TranscriptPart } from './types.ts'

/** The transcript of one run of a session, as the page shows it. Runs count from 0. */
export function transcriptParts({ runs }: Pick<InspectedSession, 'runs'>, run: number): readonly TranscriptPart[] {
  return shownParts(partsOfMessages(runs, run))
}

/** These parts, as the page shows them. */
export function shownParts(parts: readonly Part[]): readonly TranscriptPart[] {
  return parts.map(shownPart)
}

/** What parts of a transcript are known by: a reply by its message, a call by its id, what was handed in by the id of that. */
export const placeOfReply = (messageId: string): string => `reply ${messageId}`
export const placeOfCall = (callId: string): string => `call ${callId}`
export const placeOfInbox = (inboxId: string): string => `inbox ${inboxId}`
/** Rounds of checks are known by their request and their place. */
export const placeOfRound = (request: number, place: string): string => `round ${request} ${place}`
/** Waits for services and pauses are known by the name of their step. */
export const placeOfWait = (name: string): string => `wait ${name}`
/** Compactions are known by how many were before. */
export const placeOfCompaction = (before: number): string => `compaction ${before}`

/** The parts of a run, and where in them what is told that the timeline shows. A call id that was used again names the last. */
export function placedParts(
  runs: InspectedSession['runs'],
  run: number,
): { readonly parts: readonly Part[]; readonly places: ReadonlyMap<string, number> } {
  const places = new Map<string, number>()
  let compactions = 0
  const parts = partsOfMessages(runs, run, (entry, place) => {
    if (entry.kind === 'assistant') places.set(placeOfReply(entry.message.id), place)
    if (entry.kind === 'goal_round') places.set(placeOfRound(entry.round.request, entry.round.place), place)
    if (entry.kind === 'wait') places.set(placeOfWait(entry.name), place)
    if (entry.kind === 'user' && entry.inboxId !== undefined) places.set(placeOfInbox(entry.inboxId), place)
    // What a hook replaced is no step of a compaction.
    if (entry.kind === 'compact_boundary' && entry.trigger !== 'hook')
      places.set(placeOfCompaction(compactions++), place)
  })
  for (const [place, part] of parts.entries()) {
    if (part.kind !== 'call') continue
    places.set(placeOfCall(part.callId), place)
  }
  return { parts, places }
}

function shownPart(part: Part): TranscriptPart {
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
      const shown: CallPart = {
        kind: 'call',
        callId,
        name,
        input: jsonText(input),
        result: result === undefined ? null : plainText(result),
        isError,
        durationMs: durationMs ?? null,
        changes: changeLines(part),
        agent: agent.map(shownPart),
      }
      return shown
    }
  }
}
