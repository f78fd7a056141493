import type { ElicitationPropertySchema, ElicitationSchema, EnumOption, StringFormat } from '@agentclientprotocol/sdk'
import { headOf } from '@halting/core/adapters'
import { everyCharacter } from '../io/seen.ts'
import { fieldsOf } from './fields.ts'

/** More of them nobody fills in. */
const mostFields = 50
const mostOptions = 500
const longestText = 4_000

/** Text of a server, as a person sees all of it. */
export function seenText(text: string): string {
  const seen = everyCharacter(text)
  return seen.length <= longestText ? seen : `${headOf(seen, longestText)} [... ${seen.length - longestText} more]`
}

/** What a server wants to know, as a form of the protocol: what it says of each field and nothing else. Undefined for what no form shows. */
export function formOf(requested: unknown): ElicitationSchema | undefined {
  const { type, properties, required } = fieldsOf(requested)
  const given = Object.entries(fieldsOf(properties))
  if (type !== 'object' || given.length > mostFields) return undefined
  const shown = given.map(([name, about]) => [name, fieldOf(fieldsOf(about))] as const)
  // One that is left out would be an answer that nobody gave.
  if (shown.some(([, field]) => field === undefined)) return undefined
  return {
    type: 'object',
    // Each was looked at.
    properties: Object.fromEntries(shown) as { [name: string]: ElicitationPropertySchema },
    ...(textsIn(required) !== undefined && { required: textsIn(required) ?? null }),
  }
}

type Fields = ReturnType<typeof fieldsOf>

function fieldOf(about: Fields): ElicitationPropertySchema | undefined {
  const words = { ...shownText('title', about), ...shownText('description', about) }
  switch (about['type']) {
    case 'string': {
      const [options, isOpen] = [optionsIn(about), !('enum' in about || 'oneOf' in about)]
      if (options === undefined && !isOpen) return undefined
      const format = formats.find((known) => known === about['format'])
      const choice = options === undefined ? { ...numbers(about, 'minLength', 'maxLength') } : { oneOf: options }
      return {
        type: 'string',
        ...words,
        ...choice,
        ...(format !== undefined && { format }),
        ...byDefault(about, isText),
      }
    }
    case 'number':
    case 'integer':
      return { type: about['type'], ...words, ...numbers(about, 'minimum', 'maximum'), ...byDefault(about, isNumber) }
    case 'boolean':
      return { type: 'boolean', ...words, ...byDefault(about, isBoolean) }
    case 'array': {
      const anyOf = optionsIn(fieldsOf(about['items']))
      if (anyOf === undefined) return undefined
      const chosen = textsIn(about['default'])
      const bounds = numbers(about, 'minItems', 'maxItems')
      return { type: 'array', ...words, ...bounds, items: { anyOf }, ...(chosen !== undefined && { default: chosen }) }
    }
    default:
      return undefined
  }
}

const formats: readonly StringFormat[] = ['email', 'uri', 'date', 'date-time']

/** What can be chosen, in each of the forms that servers write it in; undefined where it is no list of texts. */
function optionsIn(about: Fields): EnumOption[] | undefined {
  const names = textsIn(about['enumNames']) ?? []
  const plain = textsIn(about['enum'])?.map((value, index) => ({
    const: value,
    title: seenText(names[index] ?? value),
  }))
  const [oneOf, anyOf] = [about['oneOf'], about['anyOf']]
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
  const options = titled?.map((given: unknown) => {
    const { const: value, title } = fieldsOf(given)
    return typeof value === 'string' ? { const: value, title: seenText(isText(title) ? title : value) } : undefined
  })
  const all = options?.every((option) => option !== undefined) === true ? options : plain
  return all === undefined || all.length === 0 || all.length > mostOptions ? undefined : all
}

function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every(isText) ? value : undefined
}

function shownText(name: 'title' | 'description', { [name]: text }: Fields): { readonly [field: string]: string } {
  return isText(text) ? { [name]: seenText(text) } : {}
}

function numbers(about: Fields, ...names: readonly string[]): { readonly [field: string]: number } {
  return Object.fromEntries(
    names.flatMap((name): [string, number][] => {
      const value = about[name]
      return isNumber(value) ? [[name, value]] : []
    }),
  )
}

function byDefault<T>({ default: value }: Fields, isOne: (value: unknown) => value is T): { readonly default?: T } {
  return isOne(value) ? { default: value } : {}
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => Number.isFinite(value)
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'

/** What is wrong with an answer to a form, in words; undefined for one that fits. A client that lies is no person. */
export function misfitOf({ properties = {}, required }: ElicitationSchema, content: Fields): string | undefined {
  const missing = required?.find((name) => !Object.hasOwn(content, name))
  if (missing !== undefined) return `${missing} is missing`
  const strange = Object.entries(content).find(([name, value]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    return field === undefined || !fits(fieldsOf(field), value)
  })
  return strange === undefined ? undefined : `${strange[0]} has the wrong type or value`
}

function fits(field: Fields, value: unknown): boolean {
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity, oneOf, items, type } = field
  const isWithin = (size: number, least: unknown, most: unknown): boolean =>
    size >= Number(least) && size <= Number(most)
  const isOption = (options: unknown, chosen: unknown): boolean =>
    Array.isArray(options) && options.some((option: unknown) => fieldsOf(option)['const'] === chosen)
  switch (type) {
    case 'string':
      return (
        isText(value) && (oneOf === undefined ? isWithin(value.length, minLength, maxLength) : isOption(oneOf, value))
      )
    case 'number':
    case 'integer':
      return isNumber(value) && isWithin(value, minimum, maximum) && (type === 'number' || Number.isInteger(value))
    case 'boolean':
      return isBoolean(value)
    default: {
      const { minItems = 0, maxItems = Infinity } = field
      const chosen = textsIn(value)
      return (
        chosen !== undefined &&
        isWithin(chosen.length, minItems, maxItems) &&
        chosen.every((one) => isOption(fieldsOf(items)['anyOf'], one))
      )
    }
  }
}
