import { isJsonObject } from '@halting/core/adapters'
import { expectedList } from './input-texts.ts'
import { type Field, type Fields, schemaOfFields } from './input.ts'

/** Bounds of a list. */
export interface ListBounds {
  readonly mostItems: number
}

/** Creates a field for a list of objects, each with exactly these fields. */
export function listOf<Item>(
  description: string,
  fields: Fields<Item>,
  { mostItems }: ListBounds,
): Field<readonly Item[], true> {
  const known = new Map<string, Field<unknown, boolean>>(Object.entries(fields))
  const items = schemaOfFields(known)
  const each = [...known].map(([name, field]) => `${field.required ? name : `${name}?`}: ${field.expected}`).join(', ')
  const fits = (item: unknown): boolean =>
    isJsonObject(item) &&
    Object.keys(item).every((name) => known.has(name)) &&
    [...known].every(([name, field]) => {
      const value = item[name]
      return value === undefined ? !field.required : field.accepts(value)
    })
  return {
    required: true,
    schema: { type: 'array', description, items, maxItems: mostItems },
    expected: expectedList(mostItems, each),
    accepts: (value): value is readonly Item[] =>
      Array.isArray(value) && value.length <= mostItems && value.every(fits),
  }
}
