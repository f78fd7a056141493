import { tooLarge, wholeInput } from './schema-texts.ts'

/** What is wrong, and where: a path from the value that was checked. */
export interface Problem {
  readonly path: string
  readonly says: string
}

/** One check of a whole value, shared by its parts. */
export interface Walk {
  /** Parts of the schema that are being checked within each other. */
  level: number
  /** Comparisons so far; what takes less than one counts as a part of it. */
  steps: number
  /** Why the check was given up; then it is the only problem. */
  exceeded: string | undefined
}

/** How many times a part of a value may be compared with a part of a schema. */
const mostSteps = 1_000_000

/** Counts work of a check; false when there was too much of it. */
export function spend(walk: Walk, steps: number): boolean {
  if (walk.exceeded !== undefined) return false
  walk.steps += steps
  if (walk.steps > mostSteps) walk.exceeded = tooLarge
  return walk.exceeded === undefined
}

/** Of a step: what a name takes, or a part of a value that is compared with another value; an item that is looked at; a character. */
export const aboutPart: number = 1 / 2
export const aboutItem: number = 1 / 4
export const aboutCharacter: number = 1 / 16

/** Compares a value with a part of a schema. `none`, the very same list, when it fits. */
export type Check = (value: unknown, walk: Walk) => readonly Problem[]

/** The check of a part of the schema; a boolean is one too. */
export type PartOf = (schema: unknown) => Check

/** Nothing is wrong. */
export const none: readonly Problem[] = Object.freeze([])

/** Takes any value. */
export const accept: Check = () => none

/** Something is wrong with the value as a whole. */
export function wrong(says: string): readonly Problem[] {
  return [{ path: '', says }]
}

/** The most problems that are told; a model corrects these first. One more is looked for, to say that there are more. */
export const mostProblems = 20

/** Problems, and those of a field or an element beside them. */
export function joined(problems: readonly Problem[], inside: readonly Problem[], place = ''): readonly Problem[] {
  if (inside === none) return problems
  const placed = place === '' ? inside : inside.map(({ path, says }) => ({ path: place + path, says }))
  return problems === none ? placed : [...problems, ...placed]
}

/** The longest path that is told whole: names in it come from the model. */
const longestPath = 200

/** How a place is named to the model. */
export function placeOf(path: string): string {
  const place = path.startsWith('.') ? path.slice(1) : path
  if (place === '') return wholeInput
  return place.length <= longestPath ? place : `${place.slice(0, 100)}…${place.slice(-80)}`
}
