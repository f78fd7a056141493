import type { ToolResultBlock, ToolUseBlock } from '../model/messages.ts'
import { exactHash, maskedHash } from './masked-hash.ts'

/** Longest cycle of turns that is looked for. */
const longestCycle = 8
/** How often the same turns may be repeated unless said otherwise. */
export const defaultRepeats = 5
/** After how many repeats the model is reminded unless said otherwise. */
export const defaultRemindAt = 3
/** Most turns that are remembered: those that the longest cycle fills. */
const rememberedTurns: number = longestCycle * defaultRepeats
/** Turns that a cycle with waits in it must fill. */
const turnsWithWaits = 25

/**
 * A turn waits when one of its tools works for so long: `sleep 30` before the next look, or tests that take their time. It is 5 seconds, of which timers of
 * hosts may leave out a little.
 */
export const waitMs = 4_990

/** The newest turns as a cycle that comes again and again. */
export interface Cycle {
  /** Turns of one round. */
  readonly length: number
  /** Rounds in a row. */
  readonly repeats: number
  /** As many rounds as are one too many. */
  readonly limit: number
}

/**
 * One turn as it is remembered: a hash of names, inputs and outputs in call order, without ids and without what is masked in outputs; below zero where the
 * turn waited.
 */
export function turnHash(
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
  hasWaited: boolean,
): number {
  let hash = 0
  for (const [index, call] of calls.entries()) {
    hash = exactHash(call.name, hash)
    hash = exactHash(JSON.stringify(call.input) ?? '', hash)
    hash = outputHash(results[index]?.content ?? '', hash)
  }
  // As many bits as tell a few turns apart: they are in each record of a lap.
  hash >>>= 0
  return hasWaited ? -1 - hash : hash
}

function outputHash(content: ToolResultBlock['content'], link: number): number {
  if (typeof content === 'string') return textHash(content, link)
  let hash = link
  for (const block of content)
    hash = block.type === 'text' ? textHash(block.text, hash) : exactHash(JSON.stringify(block), hash)
  return hash
}

/** Characters of the longest text that is looked at for having no word. */
const longestFigure = 64

// Spec R-PROG-5a.
/** Where a result is nothing but figures, such as `42 %`, these are what was asked for: another one is progress. */
function textHash(text: string, link: number): number {
  const isFigure = text.length <= longestFigure && !/\p{L}/u.test(text)
  return isFigure ? exactHash(text, link) : maskedHash(text, link)
}

// Spec R-PROG-6.
/** The recent turns with a new one at their end: as many as can be part of a cycle, those of the longest cycle at least. */
export function withNewest(turns: readonly number[], newest: number): readonly number[] {
  const all = [...turns, newest]
  let needed = longestCycle
  for (let length = 1; length <= longestCycle; length++) needed = Math.max(needed, length + sameInARow(all, length))
  return all.slice(-Math.min(needed, rememberedTurns))
}

/** The cycle that is nearest to its limit, the shortest of several; undefined where no turn is remembered. `repeats` is the limit without waits. */
export function nearestCycle(turns: readonly number[], repeats: number): Cycle | undefined {
  let nearest: Cycle | undefined
  for (let length = 1; length <= Math.min(longestCycle, turns.length); length++) {
    const inARow = 1 + Math.floor(sameInARow(turns, length) / length)
    // What came once is no cycle, and the newest turn alone says so as well.
    if (length > 1 && (inARow === 1 || isMadeOfShorter(turns, length))) continue
    // Whoever waits between two looks does little harm, and often gets what is waited for.
    const limit = waitsInRound(turns, length) ? Math.max(repeats, Math.floor(turnsWithWaits / length)) : repeats
    const cycle = { length, repeats: inARow, limit }
    if (nearest === undefined || cycle.repeats / limit > nearest.repeats / nearest.limit) nearest = cycle
  }
  return nearest
}

/** Whether one of the newest turns waited. */
function waitsInRound(turns: readonly number[], length: number): boolean {
  for (let index = turns.length - length; index < turns.length; index++) if ((turns[index] ?? 0) < 0) return true
  return false
}

/** The same calls with the same results, whether or not it waited. */
function isSame(turn: number | undefined, other: number | undefined): boolean {
  return whatOf(turn) === whatOf(other)
}

function whatOf(turn: number | undefined): number | undefined {
  return turn !== undefined && turn < 0 ? -1 - turn : turn
}

/** A round of four may be two rounds of two. */
function isMadeOfShorter(turns: readonly number[], round: number): boolean {
  for (let length = 1; length <= round / 2; length++)
    if (round % length === 0 && sameInARow(turns, length) >= round - length) return true
  return false
}

/** How many of the newest turns are, one after another, the same as the one so many turns before. */
function sameInARow(turns: readonly number[], length: number): number {
  let same = 0
  for (let index = turns.length - 1; index >= length && isSame(turns[index], turns[index - length]); index--) same++
  return same
}
