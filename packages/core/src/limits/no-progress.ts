import { fieldsOf, isNumber, optional, refuse } from '../values/validators.ts'
import { StopSignal } from '../endings/signal.ts'
import type { Guard, GuardView, Reminder } from './guard.ts'
import { defaultRemindAt, defaultRepeats, nearestCycle, type Cycle } from './recent-turns.ts'
import { repeatedCalls } from '../endings/ending-texts.ts'

/** How soon `noProgress` fires. */
export interface NoProgressOptions {
  /** How many consecutive repeats of a cycle stop the run: at least 3, at most 5 (default: 5). */
  readonly repeats?: number
  /** How many consecutive repeats remind the model: at least 2, less than `repeats` (default: 3). */
  readonly remindAt?: number
}

/** What happens when a run repeats itself. `remind`: the model is reminded once. `stop`: the model is reminded, then the run stops. `off`: nothing. */
export type NoProgressPolicy = 'remind' | 'stop' | 'off'

/** The guard for a policy. Returns none if one of the caller's guards already detects repetition. */
export function guardsOfPolicy(policy: NoProgressPolicy | undefined, guards: readonly Guard[]): readonly Guard[] {
  if (policy === undefined || policy === 'off' || guards.some(({ looksAtTurns }) => looksAtTurns === true))
    return noGuards
  return policy === 'stop' ? [noProgress()] : [progressReminder]
}

const noGuards: readonly Guard[] = Object.freeze([])

/**
 * Detects a run that repeats itself: a cycle of 1 to 8 turns with the same calls, inputs *and* outputs, several times in
 * a row. Numbers, times, hashes and temporary paths in outputs are ignored. Any other change in the output of a poll is
 * progress, and so is any turn after new user input. A poll with a tool that takes 5 seconds or longer may continue for
 * 25 turns. The model is reminded once (`no_progress_nudge`) after 3 rounds; after 5 rounds the run stops. The following
 * cause one reminder but never stop the run: edits fail 3 times in a row, 4 turns have the same error, or the same
 * answer is sent back 3 times.
 * @throws ConfigurationError for invalid options.
 */
export function noProgress(options: NoProgressOptions = {}): Guard {
  if (fieldsOf(options) === undefined) refuse('noProgress', 'given an object, such as { repeats: 3 }', options)
  for (const name of ['repeats', 'remindAt'] as const) {
    optional(isNumber)(name, options[name])
    // The check below does not detect NaN: with NaN, even the first turn would exceed the limit.
    if (Number.isNaN(options[name])) refuse(name, 'a number', options[name])
  }
  const repeats = Math.min(Math.max(3, Math.ceil(options.repeats ?? defaultRepeats)), defaultRepeats)
  const remindAt = Math.min(Math.max(2, Math.ceil(options.remindAt ?? defaultRemindAt)), repeats - 1)
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
    reminds({ recentTurns, repeated, checkpoint }) {
      const cycle = checkpoint === 'after_tools' ? nearestCycle(recentTurns, repeats) : undefined
      // A cycle of failing calls is still a cycle.
      if (cycle !== undefined && shouldRemind(cycle, repeats, remindAt)) return sameTurns
      return repeated === undefined ? noReminders : remindersOfFailures(repeated)
    },
    remaining({ recentTurns }) {
      const cycle = nearestCycle(recentTurns, repeats)
      return { guard: name, used: cycle?.repeats ?? 0, limit: cycle?.limit ?? repeats, unit: 'repeats' }
    },
  }
}

const noReminders: readonly Reminder[] = Object.freeze([])
const sameTurns: readonly Reminder[] = Object.freeze<Reminder[]>(['same_turns'])

// Spec R-PROG-7.
function remindersOfFailures({
  failedEdits,
  equalErrors,
  equalAnswers,
}: NonNullable<GuardView['repeated']>): readonly Reminder[] {
  if (failedEdits >= maxFailedEdits) return failingEdits
  if (equalErrors >= maxEqualErrors) return equalErrorsAgain
  return equalAnswers >= maxEqualAnswers ? equalAnswersAgain : noReminders
}

const maxFailedEdits = 3
const maxEqualErrors = 4
const maxEqualAnswers = 3
const failingEdits: readonly Reminder[] = Object.freeze<Reminder[]>(['failing_edits'])
const equalErrorsAgain: readonly Reminder[] = Object.freeze<Reminder[]>(['equal_errors'])
const equalAnswersAgain: readonly Reminder[] = Object.freeze<Reminder[]>(['equal_answers'])

/** Whether the cycle has reached the number of repeats for a reminder. A cycle that waits has a higher limit and is reminded later. */
export function shouldRemind(
  { repeats, limit }: Cycle,
  allRepeats: number = defaultRepeats,
  remindAt: number = defaultRemindAt,
): boolean {
  return repeats * allRepeats >= limit * remindAt
}

const detector = noProgress()

// Spec R-GUARD-11.
/** Reminds the model and never stops the run. It reports no `remaining`, because nothing ends. */
const progressReminder: Guard = Object.freeze<Guard>({
  name: detector.name,
  checkpoints: ['after_tools'],
  looksAtTurns: true,
  evaluate: () => undefined,
  reminds: (view) => detector.reminds?.(view) ?? noReminders,
})
