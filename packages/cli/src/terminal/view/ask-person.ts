import type { Json } from '@halting/core'
import { personQuestionsIn, type PersonQuestion } from '../../frontends/person-questions.ts'
import { hanging, displayLine } from './lines.ts'
import {
  choiceLines,
  interruptAnswer,
  ruler,
  type QuestionOptions,
  type QuestionView,
  writingKeys,
  writtenLines,
} from './question-parts.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'

/** What is pressed so soon after the next question came was meant for the one before it. */
const freshMs = 400

/**
 * The questions of AskUserQuestion, one at a time: options by number or arrows, several where the question takes several, and a text of one's own
 * (spec R-TERM-34). What was answered goes into `answers` of the input, by question; what was skipped is told as such. Undefined for an input without a
 * question.
 */
export function askPerson({ question, answer, changed, style, now }: QuestionOptions): QuestionView | undefined {
  const asked = personQuestionsIn(question.input)
  if (asked.length === 0) return undefined
  const answers = new Map<string, Json>()
  let at = 0
  let row = 0
  let nextAt = -Infinity
  let chosen = new Set<number>()
  let field: TextField | undefined = asked[0]?.options.length === 0 ? textField('') : undefined

  const next = (given: Json | undefined): void => {
    const present = asked[at]
    if (present !== undefined && given !== undefined) answers.set(present.question, given)
    at += 1
    row = 0
    nextAt = now()
    chosen = new Set()
    field = asked[at]?.options.length === 0 ? textField('') : undefined
    if (at < asked.length) return changed()
    answer(question.id, {
      behavior: 'allow',
      updatedInput: { ...question.input, answers: Object.fromEntries(answers) },
    })
  }
  /** Options that were chosen, in their order; a text of one's own stands behind them. */
  const given = (present: PersonQuestion, own?: string): Json => {
    const labels = present.options.flatMap(({ label }, index) => (chosen.has(index) ? [label] : []))
    const all = own === undefined ? labels : [...labels, own]
    return present.multiSelect ? all : (all[0] ?? '')
  }
  const choose = (present: PersonQuestion, index: number): void => {
    row = index
    if (index === present.options.length) {
      field = textField('')
      return changed()
    }
    if (!present.multiSelect) {
      chosen = new Set([index])
      return next(given(present))
    }
    if (!chosen.delete(index)) chosen.add(index)
    changed()
  }

  const handleField = (present: PersonQuestion, own: TextField, data: string): void => {
    const isEnter = data !== '\n' && isPressed(data, 'enter')
    if (isEnter && own.text.trim() !== '') return next(given({ ...present }, own.text.trim()))
    if (isEnter) return present.options.length === 0 ? next(undefined) : undefined
    if (!isPressed(data, 'escape')) own.handleInput(data)
    else if (present.options.length === 0) return answer(question.id, interruptAnswer)
    else field = undefined
    changed()
  }

  /** What a key before it was meant for is no answer to this one (spec R-TERM-66a). */
  const isEarly = (data: string): boolean =>
    now() - nextAt <= freshMs &&
    (isPressed(data, 'enter') || (field === undefined && typedCharacter(data) !== undefined))
  return {
    get unsentText() {
      return field?.text ?? ''
    },
    isAnswerKey(data) {
      const typed = typedCharacter(data)
      const rows = (asked[at]?.options.length ?? 0) + 1
      return (
        field === undefined && typed !== undefined && (/[ s]/.test(typed) || (typed >= '1' && Number(typed) <= rows))
      )
    },
    render(width) {
      const present = asked[at]
      if (present === undefined) return []
      const count = asked.length > 1 ? ` (${at + 1} of ${asked.length})` : ''
      const head = present.header === '' ? '' : `${displayLine(present.header, 40)}: `
      return [
        ruler(width, style),
        ...hanging('? ', `${head}${present.question}${count}`, width).map(style.bold),
        ...optionLines(present, { row, chosen, isWriting: field !== undefined }, width).flatMap(({ lines, isMarked }) =>
          isMarked ? lines.map(style.bold) : lines,
        ),
        ...(field === undefined ? [] : writtenLines(field, width)),
        ...choiceLines(keysFor(present, field !== undefined), width, style),
      ]
    },
    handleInput(data) {
      const present = asked[at]
      if (present === undefined) return
      if (isEarly(data)) return
      if (field !== undefined) return handleField(present, field, data)
      const rows = present.options.length + 1
      if (isPressed(data, 'escape')) return answer(question.id, interruptAnswer)
      if (isPressed(data, 'up', 'down')) {
        row = (row + (isPressed(data, 'up') ? rows - 1 : 1)) % rows
        return changed()
      }
      if (isPressed(data, 'enter')) {
        // With several, Enter is for those that were chosen.
        return present.multiSelect && row < present.options.length && chosen.size > 0
          ? next(given(present))
          : choose(present, row)
      }
      const typed = typedCharacter(data)
      if (typed === ' ') return choose(present, row)
      if (typed === 's') return next(undefined)
      const number = Number(typed)
      if (Number.isInteger(number) && number >= 1 && number <= rows) choose(present, number - 1)
    },
  }
}

interface Marks {
  readonly row: number
  readonly chosen: ReadonlySet<number>
  readonly isWriting: boolean
}

function optionLines(
  { options, multiSelect }: PersonQuestion,
  { row, chosen, isWriting }: Marks,
  width: number,
): readonly { readonly lines: readonly string[]; readonly isMarked: boolean }[] {
  if (options.length === 0) return []
  const all = [...options, { label: 'Other: type an answer', description: '' }]
  return all.map(({ label, description }, index) => {
    const box = multiSelect && index < options.length ? (chosen.has(index) ? '[x] ' : '[ ] ') : ''
    const pointer = index === row && !isWriting ? '›' : ' '
    const text = description === '' ? label : `${label}: ${description}`
    return { lines: hanging(`${pointer} ${index + 1} ${box}`, text, width), isMarked: index === row }
  })
}

function keysFor(
  { options, multiSelect }: PersonQuestion,
  isWriting: boolean,
): readonly { readonly key: string; readonly label: string }[] {
  if (isWriting)
    return options.length === 0
      ? [
          { key: 'Enter', label: 'answer' },
          { key: 'Esc', label: 'stop the run' },
        ]
      : writingKeys('answer')
  return [
    ...(multiSelect ? [{ key: 'Space', label: 'select' }] : []),
    { key: 'Enter', label: multiSelect ? 'submit the selection' : 'choose' },
    { key: 's', label: 'skip' },
    { key: 'Esc', label: 'stop the run' },
  ]
}
