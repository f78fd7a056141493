import { hashText } from '../hash.ts'
import type { ToolResultBlock, ToolUseBlock } from '../messages.ts'

/** Longest cycle of turns that is looked for. */
const longestCycle = 5
/** How often the same turns may be repeated unless said otherwise. */
export const defaultRepeats = 5
/** Turns that need to be remembered to see any cycle; and those that one with waits in it must fill. */
const rememberedTurns: number = longestCycle * defaultRepeats

/** A turn waits when one of its tools works for so long: `sleep 30` before the next look, or tests that take their time. */
export const waitMs = 5_000

/** The newest turns as a cycle that comes again and again. */
export interface Cycle {
  /** Turns of one round. */
  readonly length: number
  /** Rounds in a row. */
  readonly repeats: number
  /** As many rounds as are one too many. */
  readonly limit: number
}

/** One turn as it is remembered: a hash of names, inputs and outputs in call order, without ids; below zero where the turn waited. */
export function turnHash(
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
  hasWaited: boolean,
): number {
  let hash = 0
  for (const [index, call] of calls.entries()) {
    hash = hashText(call.name, hash)
    hash = hashText(JSON.stringify(call.input) ?? '', hash)
    const content = results[index]?.content ?? ''
    hash = hashText(typeof content === 'string' ? content : JSON.stringify(content), hash)
  }
  return hasWaited ? -1 - hash : hash
}

/** The recent turns with a new one at their end. */
export function withNewest(turns: readonly number[], newest: number): readonly number[] {
  return [...turns.slice(1 - rememberedTurns), newest]
}

/** The cycle that is nearest to its limit, the shortest of several; undefined where no turn is remembered. `repeats` is the limit without waits. */
export function nearestCycle(turns: readonly number[], repeats: number): Cycle | undefined {
  let nearest: Cycle | undefined
  for (let length = 1; length <= Math.min(longestCycle, turns.length); length++) {
    const round = turns.slice(-length)
    if (isMadeOfShorter(round)) continue
    // Whoever waits between two looks does little harm, and often gets what is waited for.
    const limit = round.some(hasWaited) ? Math.max(repeats, Math.floor(rememberedTurns / length)) : repeats
    const cycle = { length, repeats: timesInARow(turns, length), limit }
    if (nearest === undefined || cycle.repeats / limit > nearest.repeats / nearest.limit) nearest = cycle
  }
  return nearest
}

function hasWaited(turn: number): boolean {
  return turn < 0
}

/** The same calls with the same results, whether or not it waited. */
function isSame(turn: number | undefined, other: number | undefined): boolean {
  return whatOf(turn) === whatOf(other)
}

function whatOf(turn: number | undefined): number | undefined {
  return turn !== undefined && turn < 0 ? -1 - turn : turn
}

/** A round of four may be two rounds of two. */
function isMadeOfShorter(round: readonly number[]): boolean {
  for (let length = 1; length <= round.length / 2; length++)
    if (round.length % length === 0 && timesInARow(round, length) * length === round.length) return true
  return false
}

/** How often in a row the newest `length` turns came. */
function timesInARow(turns: readonly number[], length: number): number {
  let same = 0
  for (let index = turns.length - 1; index >= length && isSame(turns[index], turns[index - length]); index--) same++
  return 1 + Math.floor(same / length)
}
