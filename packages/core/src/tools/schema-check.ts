import { tooLarge, wholeInput } from './schema-texts.ts'

/** A problem of a value, and its path from the checked value. */
export interface Problem {
  readonly path: string
  readonly message: string
}

/** The state of one validation of a value, which the checks of its parts share. */
export interface Validation {
  /** Current nesting depth of the schema parts. */
  level: number
  /** Comparisons so far; smaller work counts as a fraction. */
  steps: number
  /** Why the validation was given up; then it is the only problem. */
  exceeded: string | undefined
}

/** Maximum number of times that a part of a value is compared with a part of a schema. */
const maxSteps = 1_000_000

/** Adds to the work of a validation. Returns false when the maximum is exceeded. */
export function spend(validation: Validation, steps: number): boolean {
  if (validation.exceeded !== undefined) return false
  validation.steps += steps
  if (validation.steps > maxSteps) validation.exceeded = tooLarge
  return validation.exceeded === undefined
}

/** Fractions of a step: for a property name or a comparison of values, for a list item, and for a character. */
export const stepsPerPart: number = 1 / 2
export const stepsPerItem: number = 1 / 4
export const stepsPerCharacter: number = 1 / 16

/** Compares a value with a part of a schema. Returns `none`, the same object, if it fits. */
export type Check = (value: unknown, validation: Validation) => readonly Problem[]

/** Returns the check of a part of the schema, which may be a boolean. */
export type PartOf = (schema: unknown) => Check

/** No problems. */
export const noProblems: readonly Problem[] = Object.freeze([])

/** Accepts any value. */
export const acceptAll: Check = () => noProblems

/** A problem of the value as a whole. */
export function problemOfValue(message: string): readonly Problem[] {
  return [{ path: '', message }]
}

/** Maximum number of reported problems, since a model corrects the first ones first. One more is collected to detect that there are more. */
export const maxProblems = 20

/** Appends the problems of a field or an element to the others. */
export function withProblemsAt(
  problems: readonly Problem[],
  inside: readonly Problem[],
  place = '',
): readonly Problem[] {
  if (inside === noProblems) return problems
  const placed = place === '' ? inside : inside.map(({ path, message }) => ({ path: place + path, message }))
  return problems === noProblems ? placed : [...problems, ...placed]
}

/** Maximum length of a reported path, whose names come from the model. */
const longestPath = 200

/** The name of a position, for the model. */
export function positionName(path: string): string {
  const place = path.startsWith('.') ? path.slice(1) : path
  if (place === '') return wholeInput
  return place.length <= longestPath ? place : `${place.slice(0, 100)}…${place.slice(-80)}`
}
