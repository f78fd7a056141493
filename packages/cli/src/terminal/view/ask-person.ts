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

/** A key this soon after the next question appeared was meant for the previous one. */
const freshMs = 400

/**
 * The questions of AskUserQuestion, one at a time: options by number or arrows, several if allowed, and free text
 * (spec R-TERM-34). The answers go into `answers` of the input, by question, without skipped ones. Undefined for an input without
 * questions.
 */
export function askPerson(options: QuestionOptions): QuestionView | undefined {
  const questions = personQuestionsIn(options.question.input)
  return questions.length === 0 ? undefined : personQuestionView(options, questions)
}

function personQuestionView(options: QuestionOptions, questions: readonly PersonQuestion[]): QuestionView {
  return new PersonQuestionView(options, questions)
}

class PersonQuestionView implements QuestionView {
  readonly #question: QuestionOptions['question']
  readonly #answer: QuestionOptions['answer']
  readonly #changed: QuestionOptions['changed']
  readonly #style: QuestionOptions['style']
  readonly #now: QuestionOptions['now']
  readonly #questions: readonly PersonQuestion[]
  readonly #answers = new Map<string, Json>()
  #at = 0
  #row = 0
  #nextAt = -Infinity
  #chosen = new Set<number>()
  #field: TextField | undefined

  constructor({ question, answer, changed, style, now }: QuestionOptions, questions: readonly PersonQuestion[]) {
    this.#question = question
    this.#answer = answer
    this.#changed = changed
    this.#style = style
    this.#now = now
    this.#questions = questions
    this.#field = questions[0]?.options.length === 0 ? textField('') : undefined
  }

  get unsentText(): QuestionView['unsentText'] {
    return this.#field?.text ?? ''
  }

  isAnswerKey(data: string): boolean {
    const typed = typedCharacter(data)
    const rows = (this.#questions[this.#at]?.options.length ?? 0) + 1
    return (
      this.#field === undefined &&
      typed !== undefined &&
      (/[ s]/.test(typed) || (typed >= '1' && Number(typed) <= rows))
    )
  }

  render(width: number): readonly string[] {
    const present = this.#questions[this.#at]
    if (present === undefined) return []
    const count = this.#questions.length > 1 ? ` (${this.#at + 1} of ${this.#questions.length})` : ''
    const head = present.header === '' ? '' : `${displayLine(present.header, 40)}: `
    return [
      ruler(width, this.#style),
      ...hanging('? ', `${head}${present.question}${count}`, width).map(this.#style.bold),
      ...optionLines(
        present,
        { row: this.#row, chosen: this.#chosen, isWriting: this.#field !== undefined },
        width,
      ).flatMap(({ lines, isMarked }) => (isMarked ? lines.map(this.#style.bold) : lines)),
      ...(this.#field === undefined ? [] : writtenLines(this.#field, width)),
      ...choiceLines(keysFor(present, this.#field !== undefined), width, this.#style),
    ]
  }

  handleInput(data: string): void {
    const present = this.#questions[this.#at]
    if (present === undefined) return
    if (this.#isEarly(data)) return
    if (this.#field !== undefined) return this.#handleField(present, this.#field, data)
    const rows = present.options.length + 1
    if (isPressed(data, 'escape')) return this.#answer(this.#question.id, interruptAnswer)
    if (isPressed(data, 'up', 'down')) {
      this.#row = (this.#row + (isPressed(data, 'up') ? rows - 1 : 1)) % rows
      return this.#changed()
    }
    if (isPressed(data, 'enter')) {
      // With multiple selection, Enter submits the selection.
      return present.multiSelect && this.#row < present.options.length && this.#chosen.size > 0
        ? this.#next(this.#answerOf(present))
        : this.#choose(present, this.#row)
    }
    const typed = typedCharacter(data)
    if (typed === ' ') return this.#choose(present, this.#row)
    if (typed === 's') return this.#next(undefined)
    const number = Number(typed)
    if (Number.isInteger(number) && number >= 1 && number <= rows) this.#choose(present, number - 1)
  }

  #next(answerValue: Json | undefined): void {
    const present = this.#questions[this.#at]
    if (present !== undefined && answerValue !== undefined) this.#answers.set(present.question, answerValue)
    this.#at += 1
    this.#row = 0
    this.#nextAt = this.#now()
    this.#chosen = new Set()
    this.#field = this.#questions[this.#at]?.options.length === 0 ? textField('') : undefined
    if (this.#at < this.#questions.length) return this.#changed()
    this.#answer(this.#question.id, {
      behavior: 'allow',
      updatedInput: { ...this.#question.input, answers: Object.fromEntries(this.#answers) },
    })
  }

  /** The selected options in order, then the free text. */
  #answerOf(present: PersonQuestion, own?: string): Json {
    const labels = present.options.flatMap(({ label }, index) => (this.#chosen.has(index) ? [label] : []))
    const all = own === undefined ? labels : [...labels, own]
    return present.multiSelect ? all : (all[0] ?? '')
  }

  #choose(present: PersonQuestion, index: number): void {
    this.#row = index
    if (index === present.options.length) {
      this.#field = textField('')
      return this.#changed()
    }
    if (!present.multiSelect) {
      this.#chosen = new Set([index])
      return this.#next(this.#answerOf(present))
    }
    if (!this.#chosen.delete(index)) this.#chosen.add(index)
    this.#changed()
  }

  #handleField(present: PersonQuestion, own: TextField, data: string): void {
    const isEnter = data !== '\n' && isPressed(data, 'enter')
    if (isEnter && own.text.trim() !== '') return this.#next(this.#answerOf({ ...present }, own.text.trim()))
    if (isEnter) return present.options.length === 0 ? this.#next(undefined) : undefined
    if (!isPressed(data, 'escape')) own.handleInput(data)
    else if (present.options.length === 0) return this.#answer(this.#question.id, interruptAnswer)
    else this.#field = undefined
    this.#changed()
  }

  /** A key meant for the previous question does not answer this one (spec R-TERM-66a). */
  #isEarly(data: string): boolean {
    return (
      this.#now() - this.#nextAt <= freshMs &&
      (isPressed(data, 'enter') || (this.#field === undefined && typedCharacter(data) !== undefined))
    )
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
