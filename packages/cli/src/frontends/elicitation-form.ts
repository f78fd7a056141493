import type { ElicitationRequest } from '@halting/agent/mcp'
import { headOf, isJsonObject } from '@halting/core/adapters'
import { revealHidden, revealHiddenInLine } from '../io/reveal-hidden.ts'

/** An option of a field: the value that the server receives, and the title that a person sees. */
export interface FormOption {
  readonly const: string
  readonly title: string
}

interface Labelled {
  readonly title?: string
  readonly description?: string
}

interface TextFormField extends Labelled {
  readonly type: 'string'
  readonly oneOf?: FormOption[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly format?: 'email' | 'uri' | 'date' | 'date-time'
  readonly default?: string
}

interface NumberFormField extends Labelled {
  readonly type: 'number' | 'integer'
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: number
}

interface BooleanFormField extends Labelled {
  readonly type: 'boolean'
  readonly default?: boolean
}

interface ListFormField extends Labelled {
  readonly type: 'array'
  readonly items: { readonly anyOf: FormOption[] }
  readonly minItems?: number
  readonly maxItems?: number
  readonly default?: string[]
}

export type FormField = TextFormField | NumberFormField | BooleanFormField | ListFormField

/** A form as editors and the terminal show it. */
export interface Form {
  readonly type: 'object'
  readonly properties: { [name: string]: FormField }
  readonly required?: string[]
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return isJsonObject(value) ? value : {}
}

/** `The server crm asks you to open a page at auth.example.com: Connect your account` */
export function pageQuestionText(
  server: string,
  { message, url = '' }: Pick<ElicitationRequest, 'message' | 'url'>,
): string {
  const host = URL.canParse(url) ? new URL(url).host : ''
  return `The server ${revealHiddenInLine(server, 100)} asks you to open a page at ${host}: ${visibleText(message)}`
}

/** Reports that a question was declined without asking the person, and why. */
export function declinedQuestionText(server: string, message: string, why: string): string {
  return `Declined a question of the server ${server}, "${message}": ${why}.`
}

/** Why a question with unsupported fields is declined. */
export const unsupportedFormReason = 'a form cannot show what it asks for'

/** Maximum number of fields; a form with more fields is declined. */
const maxFields = 50
const maxOptions = 500
const maxTextLength = 4_000

/** Text from a server with hidden characters made visible, truncated to a maximum length. */
export function visibleText(text: string): string {
  const visible = revealHidden(text)
  return visible.length <= maxTextLength
    ? visible
    : `${headOf(visible, maxTextLength)} [... ${visible.length - maxTextLength} more]`
}

/** Reads the requested schema as a form; undefined for a schema that no form can show. */
export function readForm(requested: unknown): Form | undefined {
  const { type, properties, required } = fieldsOf(requested)
  const entries = Object.entries(fieldsOf(properties))
  if (type !== 'object' || entries.length > maxFields) return undefined
  const fields = entries.map(([name, about]) => [name, readField(fieldsOf(about))] as const)
  // Leaving out a field would send an answer that the person did not give, so the whole form is rejected.
  if (fields.some(([, field]) => field === undefined)) return undefined
  return {
    type: 'object',
    // Each field was checked above.
    properties: Object.fromEntries(fields) as Form['properties'],
    ...(stringsOf(required) !== undefined && { required: stringsOf(required) ?? [] }),
  }
}

type Fields = ReturnType<typeof fieldsOf>

function readField(about: Fields): FormField | undefined {
  const words = { ...labelText('title', about), ...labelText('description', about) }
  switch (about['type']) {
    case 'string': {
      const [options, isOpen] = [readOptions(about), !('enum' in about || 'oneOf' in about)]
      if (options === undefined && !isOpen) return undefined
      const format = formats.find((known) => known === about['format'])
      const choice = options === undefined ? { ...numericBounds(about, 'minLength', 'maxLength') } : { oneOf: options }
      return {
        type: 'string',
        ...words,
        ...choice,
        ...(format !== undefined && { format }),
        ...defaultOf(about, isText),
      }
    }
    case 'number':
    case 'integer':
      return {
        type: about['type'],
        ...words,
        ...numericBounds(about, 'minimum', 'maximum'),
        ...defaultOf(about, isNumber),
      }
    case 'boolean':
      return { type: 'boolean', ...words, ...defaultOf(about, isBoolean) }
    case 'array': {
      const anyOf = readOptions(fieldsOf(about['items']))
      if (anyOf === undefined) return undefined
      const chosen = stringsOf(about['default'])
      const bounds = numericBounds(about, 'minItems', 'maxItems')
      return { type: 'array', ...words, ...bounds, items: { anyOf }, ...(chosen !== undefined && { default: chosen }) }
    }
    default:
      return undefined
  }
}

const formats: readonly NonNullable<TextFormField['format']>[] = ['email', 'uri', 'date', 'date-time']

/** The options of a field, in each notation that servers use; undefined if they are not a list of strings. */
function readOptions(about: Fields): FormOption[] | undefined {
  const names = stringsOf(about['enumNames']) ?? []
  const plain = stringsOf(about['enum'])?.map((value, index) => ({
    const: value,
    title: visibleText(names[index] ?? value),
  }))
  const [oneOf, anyOf] = [about['oneOf'], about['anyOf']]
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
  const options = titled?.map((option: unknown) => {
    const { const: value, title } = fieldsOf(option)
    return typeof value === 'string' ? { const: value, title: visibleText(isText(title) ? title : value) } : undefined
  })
  const all = options?.every((option) => option !== undefined) === true ? options : plain
  return all === undefined || all.length === 0 || all.length > maxOptions ? undefined : all
}

function stringsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every(isText) ? value : undefined
}

function labelText(name: 'title' | 'description', { [name]: text }: Fields): { readonly [field: string]: string } {
  return isText(text) ? { [name]: visibleText(text) } : {}
}

function numericBounds(about: Fields, ...names: readonly string[]): { readonly [field: string]: number } {
  return Object.fromEntries(
    names.flatMap((name): [string, number][] => {
      const value = about[name]
      return isNumber(value) ? [[name, value]] : []
    }),
  )
}

function defaultOf<T>({ default: value }: Fields, isOne: (value: unknown) => value is T): { readonly default?: T } {
  return isOne(value) ? { default: value } : {}
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => Number.isFinite(value)
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'

/** What is wrong with the content of a form; undefined if it is valid. The content comes from a client, so it is checked. */
export function formContentProblem(
  { properties, required }: Pick<Form, 'properties' | 'required'>,
  content: Fields,
): string | undefined {
  const missing = required?.find((name) => !Object.hasOwn(content, name))
  if (missing !== undefined) return `${missing} is missing`
  const mismatch = Object.entries(content).find(([name, value]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    return field === undefined || !isValidValue(field, value)
  })
  return mismatch === undefined ? undefined : `${mismatch[0]} has the wrong type or value`
}

/** Whether a value is valid for a field. */
export function isValidValue(formField: FormField, value: unknown): boolean {
  const field = fieldsOf(formField)
  const {
    minimum = -Infinity,
    maximum = Infinity,
    minLength = 0,
    maxLength = Infinity,
    oneOf,
    items,
    type,
    format,
  } = field
  const isWithin = (size: number, least: unknown, most: unknown): boolean =>
    size >= Number(least) && size <= Number(most)
  const isOption = (options: unknown, chosen: unknown): boolean =>
    Array.isArray(options) && options.some((option: unknown) => fieldsOf(option)['const'] === chosen)
  switch (type) {
    case 'string':
      if (!isText(value)) return false
      return oneOf === undefined
        ? isWithin(value.length, minLength, maxLength) && hasFormat(format, value)
        : isOption(oneOf, value)
    case 'number':
    case 'integer':
      return isNumber(value) && isWithin(value, minimum, maximum) && (type === 'number' || Number.isInteger(value))
    case 'boolean':
      return isBoolean(value)
    default: {
      const { minItems = 0, maxItems = Infinity } = field
      const chosen = stringsOf(value)
      return (
        chosen !== undefined &&
        isWithin(chosen.length, minItems, maxItems) &&
        chosen.every((one) => isOption(fieldsOf(items)['anyOf'], one))
      )
    }
  }
}

/** Lenient, because the server validates again: an email address only needs an @. */
function hasFormat(format: unknown, text: string): boolean {
  if (text === '') return true
  switch (format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(text)
    case 'uri':
      return URL.canParse(text)
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
    case 'date-time':
      return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))
    default:
      return true
  }
}
