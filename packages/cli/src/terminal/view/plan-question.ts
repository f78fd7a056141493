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
 * Asks about a plan (ExitPlanMode), or whether one comes first (EnterPlanMode); the plan itself was printed (spec R-TERM-35). Enter does nothing: a yes
 * begins the work.
 */
export function planQuestion({ question, answer, changed, style }: QuestionOptions): QuestionView {
  const isPlan = question.toolName === 'ExitPlanMode'
  let field: TextField | undefined
  const say = (given: PermissionAnswer): void => {
    field = undefined
    answer(question.id, given)
  }
  const allow = (mode: string): void =>
    say({
      behavior: 'allow',
      updatedPermissions: question.suggestions.filter((update) => update.type === 'setMode' && update.mode === mode),
    })
  const modes = question.suggestions.flatMap((update) => (update.type === 'setMode' ? [update.mode] : []))
  const isOffered = (mode: string): boolean => modes.includes(mode)
  const deny = (message: string): void => say({ behavior: 'deny', message })
  const instead: Choice = {
    key: 'i',
    label: isPlan ? 'no, and say what to change' : otherInstructionsLabel,
    choose() {
      field = textField('')
      changed()
    },
  }
  const choices: readonly Choice[] = isPlan
    ? [
        {
          key: 'y',
          label: 'yes, and ask before edits',
          choose: () => (isOffered('default') ? allow('default') : say({ behavior: 'allow' })),
        },
        ...(isOffered('acceptEdits')
          ? [{ key: 'a', label: 'yes, and accept edits', choose: () => allow('acceptEdits') }]
          : []),
        {
          key: 'n',
          label: 'no, keep planning',
          choose: () => deny('The person did not approve the plan: keep planning.'),
        },
        instead,
      ]
    : [
        { key: 'y', label: 'yes, plan first', choose: () => say({ behavior: 'allow' }) },
        { key: 'n', label: 'no, start now', choose: () => deny('The person wants no plan first: begin.') },
        instead,
      ]
  return {
    get unsentText() {
      return field?.text ?? ''
    },
    isAnswerKey(data) {
      const typed = typedCharacter(data)
      return field === undefined && choices.some(({ key }) => key === typed)
    },
    render: (width) => [
      ruler(width, style),
      ...hanging('? ', isPlan ? begins : planFirst, width).map(style.bold),
      ...(field === undefined
        ? choiceLines(choices, width, style)
        : [...writtenLines(field, width), ...choiceLines(writingKeys('send'), width, style)]),
    ],
    handleInput(data) {
      if (field === undefined) {
        if (isPressed(data, 'escape')) return say(interruptAnswer)
        const typed = typedCharacter(data)
        return choices.find(({ key }) => key === typed)?.choose()
      }
      if (data !== '\n' && isPressed(data, 'enter') && field.text.trim() !== '')
        return deny(`The person says: ${field.text.trim()}`)
      if (isPressed(data, 'escape', 'enter')) field = undefined
      else field.handleInput(data)
      changed()
    },
  }
}
