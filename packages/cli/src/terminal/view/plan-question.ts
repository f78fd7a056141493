import type { PermissionAnswer } from '@halting/core/adapters'
import { hanging } from './lines.ts'
import {
  choiceLines,
  otherInstructionsLabel,
  interruptAnswer,
  ruler,
  type Choice,
  type QuestionOptions,
  type QuestionView,
  writingKeys,
  writtenLines,
} from './question-parts.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'

const begins = 'Start implementing this plan?'
const planFirst = 'Enter plan mode? The agent explores and plans, and changes nothing until you approve the plan.'

/**
 * Asks whether to start a plan (ExitPlanMode), which was printed, or whether to plan first (EnterPlanMode) (spec
 * R-TERM-35). Enter does nothing, because approval starts the work.
 */
export function planQuestion(options: QuestionOptions): QuestionView {
  return new PlanQuestionView(options)
}

class PlanQuestionView implements QuestionView {
  readonly #question: QuestionOptions['question']
  readonly #answer: QuestionOptions['answer']
  readonly #changed: QuestionOptions['changed']
  readonly #style: QuestionOptions['style']
  readonly #isPlan: boolean
  #field: TextField | undefined
  readonly #modes: string[]
  readonly #instead: Choice
  readonly #choices: readonly Choice[]

  constructor({ question, answer, changed, style }: QuestionOptions) {
    this.#question = question
    this.#answer = answer
    this.#changed = changed
    this.#style = style
    this.#isPlan = question.toolName === 'ExitPlanMode'
    this.#modes = question.suggestions.flatMap((update) => (update.type === 'setMode' ? [update.mode] : []))
    this.#instead = {
      key: 'i',
      label: this.#isPlan ? 'no, and say what to change' : otherInstructionsLabel,
      choose: () => {
        this.#field = textField('')
        changed()
      },
    }
    this.#choices = this.#isPlan
      ? [
          {
            key: 'y',
            label: 'yes, and ask before edits',
            choose: () =>
              this.#isOffered('default') ? this.#allow('default') : this.#answerWith({ behavior: 'allow' }),
          },
          ...(this.#isOffered('acceptEdits')
            ? [{ key: 'a', label: 'yes, and accept edits', choose: () => this.#allow('acceptEdits') }]
            : []),
          {
            key: 'n',
            label: 'no, keep planning',
            choose: () => this.#deny('The person did not approve the plan: keep planning.'),
          },
          this.#instead,
        ]
      : [
          { key: 'y', label: 'yes, plan first', choose: () => this.#answerWith({ behavior: 'allow' }) },
          { key: 'n', label: 'no, start now', choose: () => this.#deny('The person wants no plan first: begin.') },
          this.#instead,
        ]
  }

  get unsentText(): QuestionView['unsentText'] {
    return this.#field?.text ?? ''
  }

  isAnswerKey(data: string): boolean {
    const typed = typedCharacter(data)
    return this.#field === undefined && this.#choices.some(({ key }) => key === typed)
  }

  render(width: number): readonly string[] {
    return [
      ruler(width, this.#style),
      ...hanging('? ', this.#isPlan ? begins : planFirst, width).map(this.#style.bold),
      ...(this.#field === undefined
        ? choiceLines(this.#choices, width, this.#style)
        : [...writtenLines(this.#field, width), ...choiceLines(writingKeys('send'), width, this.#style)]),
    ]
  }

  handleInput(data: string): void {
    if (this.#field === undefined) {
      if (isPressed(data, 'escape')) return this.#answerWith(interruptAnswer)
      const typed = typedCharacter(data)
      return this.#choices.find(({ key }) => key === typed)?.choose()
    }
    if (data !== '\n' && isPressed(data, 'enter') && this.#field.text.trim() !== '')
      return this.#deny(`The person says: ${this.#field.text.trim()}`)
    if (isPressed(data, 'escape', 'enter')) this.#field = undefined
    else this.#field.handleInput(data)
    this.#changed()
  }

  #answerWith(permissionAnswer: PermissionAnswer): void {
    this.#field = undefined
    this.#answer(this.#question.id, permissionAnswer)
  }

  #allow(mode: string): void {
    return this.#answerWith({
      behavior: 'allow',
      updatedPermissions: this.#question.suggestions.filter(
        (update) => update.type === 'setMode' && update.mode === mode,
      ),
    })
  }

  #isOffered(mode: string): boolean {
    return this.#modes.includes(mode)
  }

  #deny(message: string): void {
    return this.#answerWith({ behavior: 'deny', message })
  }
}
