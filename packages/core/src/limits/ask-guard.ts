import { HaltingError, isInstance } from '../values/errors.ts'
import { disregard } from '../values/eventually.ts'
import { StopSignal } from '../endings/signal.ts'
import type { Guard, GuardView, Reminder } from './guard.ts'

// Asks a guard, alone or as a part of another one. Plain JavaScript may give anything: nobody knows then whether the run may go on.

/** The signal of a guard; undefined where it raises none. @throws HaltingError when it gives something else. */
export function signalOf(guard: Guard, view: GuardView): StopSignal | undefined {
  const given: unknown = guard.evaluate(view) ?? undefined
  if (given === undefined || isInstance(given, StopSignal)) return given
  disregard(given)
  throw new HaltingError(
    'callback',
    `The guard ${guard.name} gave something that is no StopSignal. A guard answers at once, with a StopSignal or nothing.`,
  )
}

const noReminders: readonly Reminder[] = Object.freeze([])

/** What a guard wants the model to be reminded of. @throws HaltingError when it gives something else. */
export function remindersOf(guard: Guard, view: GuardView): readonly Reminder[] {
  if (guard.reminds === undefined) return noReminders
  const given: unknown = guard.reminds(view)
  // A list may have holes, which `every` passes over.
  if (Array.isArray(given) && !given.includes(undefined) && given.every(isReminder)) return given
  disregard(given)
  const must = 'A guard answers at once, with a list of what to remind the model of.'
  throw new HaltingError('callback', `The guard ${guard.name} gave something that is no list of reminders. ${must}`)
}

const known: { readonly [reminder in Reminder]: true } = {
  same_turns: true,
  failing_edits: true,
  equal_errors: true,
  equal_answers: true,
}

/** `Object.hasOwn` of a record over the union gives the union. */
function isReminder(value: unknown): value is Reminder {
  return typeof value === 'string' && Object.hasOwn(known, value)
}
