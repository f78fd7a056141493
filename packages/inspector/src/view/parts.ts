import { changeLines } from '../told/change-lines.ts'
import { plainText, toldParts, type Part } from '../told/told-session.ts'
import type { InspectedSession } from './inspected.ts'
import type { CallPart, TranscriptPart } from './types.ts'

/** The transcript of one run of a session, as the page shows it. Runs count from 0. */
export function transcriptParts({ runs }: Pick<InspectedSession, 'runs'>, run: number): readonly TranscriptPart[] {
  return toldParts(runs, run).map(shownPart)
}

/** By call of the main loop and of agents, the part of the transcript that tells of it. An id that was used again names the last. */
export function placesOfCalls(parts: readonly Part[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  const note = (part: Part, place: number): void => {
    if (part.kind !== 'call') return
    places.set(part.callId, place)
    for (const inner of part.agent) note(inner, place)
  }
  for (const [place, part] of parts.entries()) note(part, place)
  return places
}

function shownPart(part: Part): TranscriptPart {
  switch (part.kind) {
    case 'person':
      return { kind: 'person', by: part.by, text: plainText(part.content) }
    case 'answer':
    case 'thinking':
    case 'note':
      return part
    case 'call': {
      const { callId, name, input, result, isError, durationMs, agent } = part
      const shown: CallPart = {
        kind: 'call',
        callId,
        name,
        input: JSON.stringify(input, null, 2) ?? '',
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
