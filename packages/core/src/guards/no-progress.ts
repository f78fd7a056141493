import { fieldsOf, isNumber, optional, refuse } from '../given.ts'
import { StopSignal } from '../endings/signal.ts'
import type { Guard, GuardView } from './guard.ts'
import { defaultRepeats, nearestCycle } from './recent-turns.ts'
import { repeatedCalls } from '../endings/ending-texts.ts'

/** How soon `noProgress` fires. */
export interface NoProgressOptions {
  /** How often in a row a cycle must come; 5 unless said otherwise, and at most 5. */
  readonly repeats?: number
}

/** What happens where a run repeats itself: the model is reminded once, or it is reminded and then the run stops, or nothing. */
export type NoProgressPolicy = 'remind' | 'stop' | 'off'

/** The guard behind a policy; none where a guard of the caller looks at repetition already. */
export function guardsOfPolicy(policy: NoProgressPolicy | undefined, given: readonly Guard[]): readonly Guard[] {
  if (policy === undefined || policy === 'off' || given.some(({ looksAtTurns }) => looksAtTurns === true))
    return noGuards
  return policy === 'stop' ? [noProgress()] : [progressReminder]
}

const noGuards: readonly Guard[] = Object.freeze([])

/**
 * Detects a run that goes in circles: a cycle of 1 to 5 turns whose calls, inputs *and* outputs are the same, several times in a row.
 * Polling whose output changes is progress, and so is anything after new user input. Polling that waits, with a tool that takes 5 seconds or longer,
 * may go on for 25 turns.
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
    evaluate({ recentTurns }: GuardView) {
      const cycle = nearestCycle(recentTurns, repeats)
      if (cycle === undefined || cycle.repeats < cycle.limit) return undefined
      const { length, limit } = cycle
      return new StopSignal({
        reason: 'no_progress',
        message: repeatedCalls(length, limit),
        context: { cycleLength: length, repeats: limit, used: limit, limit },
        source: name,
      })
    },
    remaining({ recentTurns }) {
      const cycle = nearestCycle(recentTurns, repeats)
      return { guard: name, used: cycle?.repeats ?? 0, limit: cycle?.limit ?? repeats, unit: 'repeats' }
    },
  }
}

const detector = noProgress()

// Spec R-GUARD-11.
/** Reminds the model and never stops the run: it is asked while the run may still be reminded. It says nothing of how near it is, since nothing ends there. */
export const progressReminder: Guard = Object.freeze<Guard>({
  name: detector.name,
  checkpoints: ['after_tools'],
  looksAtTurns: true,
  evaluate: (view) => detector.evaluate(view),
})
