import { fieldsOf, isNumber, optional, refuse } from '../given.ts'
import { hashText } from '../hash.ts'
import type { ToolResultBlock, ToolUseBlock } from '../messages.ts'
import { StopSignal } from '../stop/signal.ts'
import type { Guard, GuardView } from './guard.ts'

/** Longest cycle of turns that is looked for. */
const longestCycle = 5
export const defaultRepeats = 5
/** Turns that need to be remembered to see any cycle. */
export const rememberedTurns: number = longestCycle * defaultRepeats

/** How soon `noProgress` fires. */
export interface NoProgressOptions {
  /** How often in a row a cycle must come; 5 unless said otherwise, and at most 5. */
  readonly repeats?: number
}

/**
 * Detects a run that goes in circles: a cycle of 1 to 5 turns whose calls, inputs *and* outputs are the same, several times in a row.
 * Polling whose output changes is progress, and so is anything after new user input.
 * The first time the model is told (`no_progress_nudge`); the next time the run stops.
 */
export function noProgress(options: NoProgressOptions = {}): Guard {
  if (fieldsOf(options) === undefined) refuse('noProgress', 'given an object, such as { repeats: 3 }', options)
  optional(isNumber)('repeats', options.repeats)
  const repeats = Math.min(Math.max(2, options.repeats ?? defaultRepeats), defaultRepeats)
  const name = 'noProgress'
  return {
    name,
    checkpoints: ['after_tools'],
    looksAtTurns: true,
    evaluate(view: GuardView) {
      const length = cycleLength(view.recentTurns, repeats)
      if (length === undefined) return undefined
      const what = length === 1 ? 'The same tool calls' : `A cycle of ${length} turns`
      return new StopSignal({
        reason: 'no_progress',
        message: `No progress: ${what} with the same results came ${repeats} times in a row`,
        context: { cycleLength: length, repeats, used: repeats, limit: repeats },
        source: name,
      })
    },
    remaining({ recentTurns }) {
      return { guard: name, used: mostRepeats(recentTurns), limit: repeats, unit: 'repeats' }
    },
  }
}

/** How often in a row the newest turns came, as a cycle of any length that is looked for. */
export function mostRepeats(recentTurns: readonly number[]): number {
  let most = 0
  for (let length = 1; length <= longestCycle; length++) most = Math.max(most, timesInARow(recentTurns, length))
  return most
}

/** What the model is told before a run that goes in circles is stopped. */
export const noProgressNudge: string =
  'You are repeating the same tool calls and getting the same results. Stop and think: what do you expect to change? ' +
  'Try something different, or say what keeps you from going on.'

/** Length of the shortest cycle that fills the newest turns `repeats` times. */
export function cycleLength(turns: readonly number[], repeats: number): number | undefined {
  for (let length = 1; length <= longestCycle; length++) if (timesInARow(turns, length) >= repeats) return length
  return undefined
}

/** How often in a row the newest `length` turns came; 0 where there are not as many. */
function timesInARow(turns: readonly number[], length: number): number {
  if (turns.length < length) return 0
  let same = 0
  for (let index = turns.length - 1; index >= length && turns[index] === turns[index - length]; index--) same++
  return 1 + Math.floor(same / length)
}

/** One turn as the guard remembers it: names, inputs and outputs in call order; ids do not count. */
export function turnHash(calls: readonly ToolUseBlock[], results: readonly ToolResultBlock[]): number {
  let hash = 0
  for (const [index, call] of calls.entries()) {
    hash = hashText(call.name, hash)
    hash = hashText(JSON.stringify(call.input) ?? '', hash)
    const content = results[index]?.content ?? ''
    hash = hashText(typeof content === 'string' ? content : JSON.stringify(content), hash)
  }
  return hash
}
