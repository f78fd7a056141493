import { uniqueNames } from '../values/unique-names.ts'
import type { Guard } from './guard.ts'

// Spec R-DEC-7.
/** A guard of a run, with an id of its own. An override is remembered by the id, over a resume too. */
export interface RegisteredGuard {
  readonly id: string
  readonly guard: Guard
}

const none: readonly never[] = Object.freeze([])

/** The guards of a run in their order. Their ids are no names of the run's own limits (`run/pending-endings.ts`). */
export function registerGuards(guards: readonly Guard[]): readonly RegisteredGuard[] {
  if (guards.length === 0) return none
  const ids = uniqueNames(guards.map(({ name }) => `guard:${name}`))
  return guards.map((guard, index) => ({ id: ids[index] ?? guard.name, guard }))
}
