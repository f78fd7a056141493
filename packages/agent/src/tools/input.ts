import type { InputCheck, Json, JsonObject } from '@halting/core'
import { coercedInput, headOf, isJsonObject, jsonOf } from '@halting/core/adapters'
import {
  expectedChoice,
  expectedKinds,
  expectedNumber,
  invalidInput,
  missingField,
  notAnObject,
  unknownField,
  wrongField,
} from './input-texts.ts'

// Written without a library: importing zod takes 55 to 75 ms here, and these few forms do not need it.

/** One field of a tool's input: its JSON Schema and its check are one declaration. */
export interface Field<Value, Required extends boolean> {
  readonly required: Required
  readonly schema: JsonObject
  /** What a value must be, in words for the model. */
  readonly expected: string
  accepts(value: unknown): value is Value
  /** For an optional field: an empty text counts as absent. */
  readonly emptyIsAbsent?: true
}

export type Fields<Input> = {
  readonly [Name in keyof Input]-?: Field<Exclude<Input[Name], undefined>, undefined extends Input[Name] ? false : true>
}

export interface InputForm<Input> {
  readonly schema: JsonObject
  validate(input: unknown): InputCheck<Input>
  /** Returns the input with the tool's own field names, for `Tool.canonicalInput`. */
  canonicalInput(input: JsonObject): JsonObject
}

/** Field names that similar tools of other agents use. */
export type FieldAliases<Input> = { readonly [alias: string]: keyof Input & string }

/** Other names for the folder of a search. */
export const searchAliases = { file_path: 'path', directory: 'path', dir: 'path' } as const

/** Other names for the path of a file. */
export const pathAliases = { path: 'file_path', file: 'file_path', filename: 'file_path' } as const

/**
 * Creates the form of a tool's input. An input that clearly means a valid one is accepted as the valid one. Otherwise
 * the answer reports every problem, each with the valid values.
 */
export function inputForm<Input>(
  toolName: string,
  fields: Fields<Input>,
  aliases: FieldAliases<Input> = {},
): InputForm<Input> {
  const known = new Map<string, Field<unknown, boolean>>(Object.entries(fields))
  // The check rejects other fields: declaring this in the schema would cost tokens in every request.
  const { additionalProperties: _, ...schema } = schemaOfFields(known)
  return {
    schema,
    canonicalInput: (given) => withoutEmpty(renamedFields(given, known, aliases), known),
    validate(received) {
      // Aliases were replaced before the call was judged.
      const fields = isJsonObject(received) ? withoutEmpty(received, known) : received
      const input = problemsOf(fields, known).length === 0 ? fields : coercedInput(schema, jsonOf(fields))
      const problems = problemsOf(input, known)
      // Type assertion: every field was checked against `Input`, and there are no others.
      if (problems.length === 0) return { valid: true, input: input as Input }
      const names = [...known].map(([name, field]) => (field.required ? name : `${name}?`)).join(', ')
      return { valid: false, message: invalidInput(problems.join('; '), toolName, names) }
    },
  }
}

/** If a field and its alias are both present, both stay: the check reports the alias. */
function renamedFields<Input>(
  input: JsonObject,
  known: ReadonlyMap<string, unknown>,
  aliases: FieldAliases<Input>,
): JsonObject {
  const nameOf = (name: string): string => {
    if (known.has(name)) return name
    const canonical = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    const field = canonical ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return known.has(field) && !Object.hasOwn(input, field) ? field : name
  }
  const names = Object.keys(input).map(nameOf)
  if (names.every((name) => Object.hasOwn(input, name)) || new Set(names).size < names.length) return input
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [nameOf(name), value]))
}

function withoutEmpty(input: JsonObject, known: ReadonlyMap<string, Field<unknown, boolean>>): JsonObject {
  const isAbsent = ([name, value]: readonly [string, unknown]): boolean => {
    const field = known.get(name)
    return value === '' && field?.required === false && field.emptyIsAbsent === true
  }
  const entries = Object.entries(input)
  return entries.some(isAbsent) ? Object.fromEntries(entries.filter((entry) => !isAbsent(entry))) : input
}

/** The JSON Schema of an object with exactly these fields. */
export function schemaOfFields(known: ReadonlyMap<string, Field<unknown, boolean>>): JsonObject {
  const properties = Object.fromEntries([...known].map(([name, field]): [string, Json] => [name, field.schema]))
  const required = [...known].filter(([, field]) => field.required).map(([name]) => name)
  return { type: 'object', properties, required, additionalProperties: false }
}

/**
 * Returns the schema with only these fields, each with the given description or none. Other fields are accepted from
 * models that know them, but are not worth their tokens in each request.
 */
export function schemaOfSome(
  { properties, required }: JsonObject,
  fields: Readonly<Record<string, { readonly description?: string }>>,
): JsonObject {
  const all = isJsonObject(properties) ? properties : {}
  const shown = Object.entries(fields).flatMap(([name, words]): [string, Json][] => {
    const schema = all[name]
    if (!isJsonObject(schema)) return []
    const { description: _, ...form } = schema
    return [[name, { ...form, ...words }]]
  })
  const needed = Array.isArray(required)
    ? required.filter((name) => typeof name === 'string' && Object.hasOwn(fields, name))
    : []
  return { type: 'object', properties: Object.fromEntries(shown), ...(needed.length > 0 && { required: needed }) }
}

function problemsOf(input: unknown, known: ReadonlyMap<string, Field<unknown, boolean>>): readonly string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [notAnObject]
  const values = new Map<string, unknown>(Object.entries(input))
  const unknown = [...values.keys()].filter((name) => !known.has(name)).map(unknownField)
  const wrong = [...known].flatMap(([name, field]) => {
    const value = values.get(name)
    if (value === undefined) return field.required ? [missingField(name, field.expected)] : []
    return field.accepts(value) ? [] : [wrongField(name, field.expected, shownValue(value))]
  })
  return [...wrong, ...unknown]
}

const longestShown = 60

function shownValue(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value)
  return json.length <= longestShown ? json : `${headOf(json, longestShown)}...`
}

export function text(description: string): Field<string, true> {
  return {
    required: true,
    schema: { type: 'string', description },
    expected: expectedKinds.text,
    accepts: (value): value is string => typeof value === 'string',
  }
}

/**
 * Creates a field for a non-empty string without NUL, which no path, command or pattern may contain. The check rejects
 * an empty string, so the schema need not express this.
 */
export function filledText(description: string): Field<string, true> {
  return {
    required: true,
    schema: { type: 'string', description },
    expected: expectedKinds.filledText,
    accepts: (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0'),
    emptyIsAbsent: true,
  }
}

/** Creates a field without an upper bound: a tool lowers a value above its maximum and reports the change. */
export function wholeNumber(description: string, { minimum }: { readonly minimum: number }): Field<number, true> {
  return {
    required: true,
    schema: { type: 'integer', description },
    expected: expectedNumber(minimum),
    accepts: (value): value is number => Number.isSafeInteger(value) && Number(value) >= minimum,
  }
}

export function flag(description: string): Field<boolean, true> {
  return {
    required: true,
    schema: { type: 'boolean', description },
    expected: expectedKinds.flag,
    accepts: (value): value is boolean => typeof value === 'boolean',
  }
}

export function oneOf<Choice extends string>(description: string, choices: readonly Choice[]): Field<Choice, true> {
  const list: readonly string[] = choices
  return {
    required: true,
    schema: { type: 'string', description, enum: choices },
    expected: expectedChoice(choices.join(', ')),
    accepts: (value): value is Choice => typeof value === 'string' && list.includes(value),
  }
}

export function optional<Value>(field: Field<Value, true>): Field<Value, false> {
  return { ...field, required: false }
}

/** Whether a text has no lone surrogates, which would be replaced when the text is written to disk. */
export function isWritable(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
