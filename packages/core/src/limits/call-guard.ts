import { HaltingError, isInstance } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { StopSignal } from '../endings/signal.ts'
import type { Guard, GuardView, Reminder } from './guard.ts'

// Calls a guard, alone or as part of a combinator. JavaScript code may return anything. After an invalid result it is
// unknown whether the run may continue.

/** The signal that a guard raises; undefined if it raises none. @throws HaltingError when the guard returns an invalid value. */
export function signalOf(guard: Guard, view: GuardView): StopSignal | undefined {
  const result: unknown = guard.evaluate(view) ?? undefined
  if (result === undefined || isInstance(result, StopSignal)) return result
  ignoreRejection(result)
  throw new HaltingError(
    'callback',
    `The guard ${guard.name} returned a value that is not a StopSignal. A guard must return a StopSignal or nothing, synchronously.`,
  )
}

const noReminders: readonly Reminder[] = Object.freeze([])

/** The reminders that a guard requests for the model. @throws HaltingError when the guard returns an invalid value. */
export function remindersOf(guard: Guard, view: GuardView): readonly Reminder[] {
  if (guard.reminds === undefined) return noReminders
  const result: unknown = guard.reminds(view)
  // A list may have holes, which `every` skips.
  if (Array.isArray(result) && !result.includes(undefined) && result.every(isReminder)) return result
  ignoreRejection(result)
  const must = 'A guard must return its reminders as a list, synchronously.'
  throw new HaltingError(
    'callback',
    `The guard ${guard.name} returned a value that is not a list of reminders. ${must}`,
  )
}

const knownReminders: { readonly [reminder in Reminder]: true } = {
  same_turns: true,
  failing_edits: true,
  equal_errors: true,
  equal_answers: true,
}

/** `Object.hasOwn` of a record over the union narrows to the union. */
function isReminder(value: unknown): value is Reminder {
  return typeof value === 'string' && Object.hasOwn(knownReminders, value)
}
