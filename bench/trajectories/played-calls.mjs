// Recorded steps as the calls that the loop gets.
import { isCall } from './load.mjs'

/** Digits of a digest as letters, so that a comparison without numbers and hashes does not leave them out. @param {string} digest */
export const spelled = (digest) => [...digest].map((digit) => 'ghijklmnopqrstuv'[Number.parseInt(digit, 16)] ?? digit).join('')

/** Which part of an output is compared. @typedef {'whole' | 'ends' | 'exact' | 'nothing'} Compared */

/**
 * The part of an output that the loop compares: its beginning and end, and the digest of the whole without numbers and hashes (`whole`) or with them (`exact`). `ends` leaves the
 * digest out; with `nothing`, all outputs are equal.
 * @param {import('./load.mjs').Step} step @param {Compared} compared
 */
function contentOf({ output }, compared) {
  const ends = `${output.head}\n${output.tail}`
  if (compared === 'nothing') return 'any output'
  if (compared === 'ends') return ends
  return `${ends}\n${spelled(compared === 'exact' ? output.sha : output.mask)}`
}

const toolName = (name) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 60) || 'unnamed'

/**
 * The calls of a run in pieces: a new prompt begins where a person answers. Times are those of calls if the source has them (people at work). Otherwise a step's time includes
 * the model's, and no call counts as one that waited.
 * @param {import('./load.mjs').RecordedRun} run @param {{ compared?: Compared, input?: 'exact' | 'masked' }} [options]
 */
export function playedPieces(run, { compared = 'whole', input = 'exact' } = {}) {
  const pieces = [[]]
  for (const step of run.steps) {
    if (step.tool === 'say') pieces.push([])
    if (!isCall(step)) continue
    pieces.at(-1).push({
      tool: toolName(step.tool),
      input: { text: spelled(input === 'exact' ? step.input.sha : step.input.mask) },
      content: contentOf(step, compared),
      isError: step.error === true,
      ms: run.outcome === null ? (step.ms ?? 0) : 0,
    })
  }
  return pieces.filter((piece) => piece.length > 0)
}
