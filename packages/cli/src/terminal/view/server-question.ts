import type { ElicitationAnswer } from '@halting/agent/mcp'
import {
  type Form,
  type FormField,
  type FormOption,
  isValidValue,
  pageQuestionText,
  visibleText,
} from '../../frontends/elicitation-form.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import type { Style } from '../../io/style.ts'
import type { ServerQuestion } from '../app/server-questions.ts'
import { foldedLines, hanging } from './lines.ts'
import { type Choice, choiceLines, type QuestionView, ruler, writingKeys, writtenLines } from './question-parts.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'

/** What a question of an MCP server needs to be shown. */
export interface ServerQuestionOptions {
  readonly question: ServerQuestion
  /** Called when a key answers it. */
  readonly answered: () => void
  /** Milliseconds, by a monotonic clock. */
  readonly now: () => number
  readonly changed: () => void
  readonly style: Style
}

/** A key this soon after the next field appeared was meant for the previous one. */
const freshMs = 400

type Value = NonNullable<ElicitationAnswer['content']>[string]

/** The field being answered. */
interface OpenField {
  readonly name: string
  readonly field: FormField
  /** For fields without options. */
  readonly text: TextField | undefined
  readonly options: readonly FormOption[]
  row: number
  readonly chosen: Set<number>
  problem: string
}

/**
 * Shows a form or page of an MCP server (spec R-TERM-91): first the question and the server that asks, then one field
 * after another. Enter alone accepts nothing, only the person opens an address, and values are validated.
 */
export function serverQuestionView(options: ServerQuestionOptions): QuestionView {
  const { question, answered, changed, style, now } = options
  const { server, request, form } = question
  const values = new Map<string, Value>()
  let open: OpenField | undefined
  let nextAt = -Infinity
  const answerWith = (answer: ElicitationAnswer): void => {
    answered()
    question.answer(answer)
  }
  const names = Object.keys(form?.properties ?? {})
  const show = (at: number): void => {
    const name = names[at]
    nextAt = now()
    if (form === undefined) return answerWith({ action: 'accept' })
    if (name === undefined) return answerWith({ action: 'accept', content: Object.fromEntries(values) })
    open = openField(name, form)
    changed()
  }
  const isRequired = (name: string): boolean => form?.required?.includes(name) === true
  const take = (current: OpenField, value: Value | undefined): void => {
    const at = names.indexOf(current.name)
    if (value === undefined && isRequired(current.name)) current.problem = 'An answer is required.'
    else if (value !== undefined && !isValidValue(current.field, value))
      current.problem = `Give ${expectedValueText(current.field)}.`
    else {
      if (value === undefined) values.delete(current.name)
      else values.set(current.name, value)
      return show(at + 1)
    }
    changed()
  }
  const back = (current: OpenField): void => {
    const at = names.indexOf(current.name)
    open = undefined
    if (at > 0) show(at - 1)
    else changed()
  }
  const start: readonly Choice[] = [
    { key: 'y', label: request.mode === 'url' ? 'I will open it' : 'answer', choose: () => show(0) },
    { key: 'n', label: 'decline', choose: () => answerWith({ action: 'decline' }) },
  ]
  const isEarly = (data: string): boolean =>
    now() - nextAt <= freshMs &&
    (isPressed(data, 'enter') || (open?.text === undefined && typedCharacter(data) !== undefined))
  return {
    unsentText: '',
    isAnswerKey: (data) => open === undefined && start.some(({ key }) => key === typedCharacter(data)),
    render(width) {
      const head = [ruler(width, style), ...hanging('? ', headOf(question), width).map(style.bold)]
      if (open !== undefined) return [...head, ...fieldLines(open, isRequired(open.name), width, style)]
      const url =
        request.mode === 'url' ? foldedLines(visibleText(request.url ?? ''), width - 2).map((line) => `  ${line}`) : []
      const keys = [...start, { key: 'Esc', label: 'no answer' }]
      return [...head, ...url, ...choiceLines(keys, width, style)]
    },
    handleInput(data) {
      if (isEarly(data)) return
      if (open !== undefined) return handleField(open, data, { take, back, changed })
      if (isPressed(data, 'escape')) return answerWith({ action: 'cancel' })
      const typed = typedCharacter(data)
      start.find(({ key }) => key === typed)?.choose()
    },
  }

  function headOf({ server: name }: ServerQuestion): string {
    if (request.mode === 'url') return pageQuestionText(server, request)
    return `The server ${revealHiddenInLine(name, 100)} asks: ${visibleText(request.message)}`
  }
}

const yesOrNo: readonly FormOption[] = [
  { const: 'true', title: 'Yes' },
  { const: 'false', title: 'No' },
]

function openField(name: string, { properties }: Form): OpenField {
  const field: FormField = properties[name] ?? { type: 'string' }
  const options = optionsOf(field)
  const { default: preset } = field
  const isChosen = (value: string): boolean =>
    Array.isArray(preset) ? preset.includes(value) : String(preset) === value
  const chosen = options.flatMap((option, index) => (preset !== undefined && isChosen(option.const) ? [index] : []))
  return {
    name,
    field,
    options,
    text: options.length > 0 ? undefined : textField(preset === undefined ? '' : String(preset)),
    row: chosen[0] ?? 0,
    chosen: new Set(chosen),
    problem: '',
  }
}

function optionsOf(field: FormField): readonly FormOption[] {
  if (field.type === 'boolean') return yesOrNo
  if (field.type === 'array') return field.items.anyOf
  return field.type === 'string' ? (field.oneOf ?? []) : []
}

interface FieldActions {
  readonly take: (open: OpenField, value: Value | undefined) => void
  readonly back: (open: OpenField) => void
  readonly changed: () => void
}

function handleField(open: OpenField, data: string, { take, back, changed }: FieldActions): void {
  const { text, options, field } = open
  if (isPressed(data, 'escape')) return back(open)
  if (text !== undefined) {
    if (data !== '\n' && isPressed(data, 'enter')) return take(open, typedValue(field, text.text))
    text.handleInput(data)
    return changed()
  }
  const isList = field.type === 'array'
  const choose = (index: number): void => {
    open.row = index
    if (!isList) return take(open, optionValue(field, options[index]))
    if (!open.chosen.delete(index)) open.chosen.add(index)
    changed()
  }
  if (isPressed(data, 'up', 'down')) {
    open.row = (open.row + (isPressed(data, 'up') ? options.length - 1 : 1)) % options.length
    return changed()
  }
  if (isPressed(data, 'enter')) {
    const listed = options.flatMap(({ const: value }, index) => (open.chosen.has(index) ? [value] : []))
    return isList ? take(open, listed) : choose(open.row)
  }
  const typed = typedCharacter(data)
  if (typed === ' ') return choose(open.row)
  if (typed === 's') return take(open, undefined)
  const number = Number(typed)
  if (Number.isInteger(number) && number >= 1 && number <= options.length) choose(number - 1)
}

function optionValue(field: FormField, option: FormOption | undefined): Value | undefined {
  return field.type === 'boolean' ? option?.const === 'true' : option?.const
}

function typedValue(field: FormField, text: string): Value | undefined {
  if (text.trim() === '') return undefined
  if (field.type !== 'number' && field.type !== 'integer') return text
  const number = Number(text)
  // Text that is not a number fails validation.
  return Number.isFinite(number) ? number : text
}

/** `a whole number from 1 to 10` */
function expectedValueText(field: FormField): string {
  switch (field.type) {
    case 'number':
    case 'integer':
      return `${field.type === 'integer' ? 'a whole number' : 'a number'}${bounds(field.minimum, field.maximum, ' from')}`
    case 'array':
      return `${bounds(field.minItems, field.maxItems, '').trim()} of the options`
    case 'boolean':
      return 'yes or no'
    case 'string': {
      const { minLength, maxLength, format } = field
      const text = format === undefined ? 'a text' : formatNames[format]
      const isBounded = minLength !== undefined || maxLength !== undefined
      return isBounded ? `${text} of${bounds(minLength, maxLength, '')} characters` : text
    }
  }
}

const formatNames = {
  email: 'an email address',
  uri: 'an address such as https://example.com',
  date: 'a date such as 2026-01-31',
  'date-time': 'a date and time such as 2026-01-31T12:00:00Z',
} as const

function bounds(least: number | undefined, most: number | undefined, from: string): string {
  if (least === undefined) return most === undefined ? '' : ` at most ${most}`
  return most === undefined ? ` at least ${least}` : `${from} ${least} to ${most}`
}

function fieldLines(open: OpenField, isRequired: boolean, width: number, style: Style): readonly string[] {
  const { name, field, text, options, row, chosen, problem } = open
  const { title = name, description } = field
  const label = `${revealHiddenInLine(title, 200)}${isRequired ? ' (required)' : ''}`
  const isList = field.type === 'array'
  const rows = options.flatMap((option, index) => {
    const box = isList ? (chosen.has(index) ? '[x] ' : '[ ] ') : ''
    const lines = hanging(`${index === row ? '›' : ' '} ${index + 1} ${box}`, option.title, width)
    return index === row ? lines.map(style.bold) : lines
  })
  return [
    ...hanging('  ', description === undefined ? label : `${label}: ${description}`, width),
    ...(text === undefined ? rows : writtenLines(text, width)),
    ...(problem === '' ? [] : hanging('  ', problem, width).map(style.red)),
    ...choiceLines(keysOf(isRequired, isList, text !== undefined), width, style),
  ]
}

function keysOf(isRequired: boolean, isList: boolean, isText: boolean): readonly Pick<Choice, 'key' | 'label'>[] {
  if (isText) return writingKeys(isRequired ? 'answer' : 'answer (empty: skip)')
  return [
    ...(isList ? [{ key: 'Space', label: 'choose' }] : []),
    { key: 'Enter', label: isList ? 'answer with those chosen' : 'choose' },
    ...(isRequired ? [] : [{ key: 's', label: 'skip' }]),
    { key: 'Esc', label: 'back' },
  ]
}
