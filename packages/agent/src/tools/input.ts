import type { InputCheck, Json, JsonObject } from '@halting/core'
import { coercedInput, jsonOf } from '@halting/core/adapters'

// Written by hand: importing zod costs 55 to 75 ms here, and these few forms need none of it.

/** One field of a tool's input: its JSON Schema and its check are the same declaration. */
export interface Field<Value, Required extends boolean> {
  readonly required: Required
  readonly schema: JsonObject
  /** What is right, in words for the model. */
  readonly expected: string
  accepts(value: unknown): value is Value
}

export type Fields<Input> = {
  readonly [Name in keyof Input]-?: Field<Exclude<Input[Name], undefined>, undefined extends Input[Name] ? false : true>
}

export interface InputForm<Input> {
  readonly schema: JsonObject
  validate(input: unknown): InputCheck<Input>
}

/** Makes the form of a tool's input. What is plainly meant is taken as it is meant; every problem is told at once, each with what is right. */
export function inputForm<Input>(toolName: string, fields: Fields<Input>): InputForm<Input> {
  const known = new Map<string, Field<unknown, boolean>>(Object.entries(fields))
  const schema = schemaOfFields(known)
  return {
    schema,
    validate(given) {
      const input = problemsOf(given, known).length === 0 ? given : coercedInput(schema, jsonOf(given))
      const problems = problemsOf(input, known)
      // True: every field was found by its own check to be what `Input` says, and there are no others.
      if (problems.length === 0) return { valid: true, input: input as Input }
      const names = [...known].map(([name, field]) => (field.required ? name : `${name}?`)).join(', ')
      return { valid: false, message: `${toolName}: ${problems.join('; ')}. The fields are: ${names}.` }
    },
  }
}

/** The JSON Schema of an object with these fields and no others. */
export function schemaOfFields(known: ReadonlyMap<string, Field<unknown, boolean>>): JsonObject {
  const properties = Object.fromEntries([...known].map(([name, field]): [string, Json] => [name, field.schema]))
  const required = [...known].filter(([, field]) => field.required).map(([name]) => name)
  return { type: 'object', properties, required, additionalProperties: false }
}

function problemsOf(input: unknown, known: ReadonlyMap<string, Field<unknown, boolean>>): readonly string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ['the input must be an object']
  const given = new Map<string, unknown>(Object.entries(input))
  const unknown = [...given.keys()].filter((name) => !known.has(name)).map((name) => `there is no field ${name}`)
  const wrong = [...known].flatMap(([name, field]) => {
    const value = given.get(name)
    if (value === undefined) return field.required ? [`${name} is missing: ${field.expected}`] : []
    return field.accepts(value) ? [] : [`${name} must be ${field.expected}`]
  })
  return [...wrong, ...unknown]
}

export function text(description: string): Field<string, true> {
  return {
    required: true,
    schema: { type: 'string', description },
    expected: 'a string',
    accepts: (value): value is string => typeof value === 'string',
  }
}

/** A string in which something must stand, and no NUL: no path, command or pattern may contain one. */
export function filledText(description: string): Field<string, true> {
  return {
    required: true,
    schema: { type: 'string', description, minLength: 1 },
    expected: 'a string that is not empty and has no NUL in it',
    accepts: (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0'),
  }
}

/** It has no upper bound: what is more than a tool does is lowered by the tool, which says so. */
export function wholeNumber(description: string, { minimum }: { readonly minimum: number }): Field<number, true> {
  return {
    required: true,
    schema: { type: 'integer', description, minimum },
    expected: `a whole number, ${minimum} or more`,
    accepts: (value): value is number => Number.isSafeInteger(value) && Number(value) >= minimum,
  }
}

export function flag(description: string): Field<boolean, true> {
  return {
    required: true,
    schema: { type: 'boolean', description },
    expected: 'true or false',
    accepts: (value): value is boolean => typeof value === 'boolean',
  }
}

export function oneOf<Choice extends string>(description: string, choices: readonly Choice[]): Field<Choice, true> {
  const list: readonly string[] = choices
  return {
    required: true,
    schema: { type: 'string', description, enum: choices },
    expected: `one of ${choices.join(', ')}`,
    accepts: (value): value is Choice => typeof value === 'string' && list.includes(value),
  }
}

export function optional<Value>(field: Field<Value, true>): Field<Value, false> {
  return { ...field, required: false }
}

/** Half a character would become another one on the way to disk. */
export function isWritable(given: string): boolean {
  return !/\p{Surrogate}/u.test(given)
}
