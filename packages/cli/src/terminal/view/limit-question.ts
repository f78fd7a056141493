import type { LimitAnswer, LimitRequest } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { limitQuestion, limitReason, offerLabel } from '../../frontends/limit-question.ts'
import { settableLimits } from '../../frontends/settable-limits.ts'
import { timeLeft } from '../../io/figures.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import type { Style } from '../../io/style.ts'
import { hanging } from './lines.ts'
import { choiceLines, ruler, type Choice, type QuestionView, writingKeys, writtenLines } from './question-parts.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'

/** What a question at a limit needs. */
export interface LimitQuestionOptions {
  readonly request: LimitRequest
  /** `session.answerLimit`. @throws ConfigurationError for an invalid answer. */
  readonly answer: (answer: LimitAnswer) => void
  /** Milliseconds since 1970. */
  readonly wallTime: () => number
  /** Called when displayed data has changed. */
  readonly changed: () => void
  readonly style: Style
}

/**
 * Asks whether to raise the limit at which a run paused (spec R-PAUSE-14). Enter does nothing, so that money is not spent by habit. Esc ends the run
 * at the limit.
 */
export function limitQuestionView(options: LimitQuestionOptions): QuestionView {
  const { request, answer, changed, style } = options
  const { limit, offers } = request
  let writing: { readonly field: TextField; problem: string } | undefined
  const answerWith = (limitAnswer: LimitAnswer): void => {
    writing = undefined
    answer(limitAnswer)
  }
  const choices: readonly Choice[] = [
    ...offers.map(({ to }, index) => ({
      key: String(index + 1),
      label: offerLabel(request, to),
      choose: () => answerWith({ raise: { [limit]: to } }),
    })),
    {
      key: 'o',
      label: 'another value',
      choose() {
        writing = { field: textField(''), problem: '' }
        changed()
      },
    },
    { key: 'n', label: 'stop here', choose: () => answerWith({ end: true }) },
  ]
  const handleWriting = (now: NonNullable<typeof writing>, data: string): void => {
    if (isPressed(data, 'escape')) writing = undefined
    else if (isPressed(data, 'enter')) now.problem = raiseTo(now.field.text)
    else now.field.handleInput(data)
    changed()
  }
  /** Returns a problem with the value; '' if it was accepted. */
  const raiseTo = (text: string): string => {
    const read = settableLimits[limit].parse(text.trim())
    if (!('value' in read)) return `Enter ${read.expected}.`
    try {
      answer({ raise: { [limit]: read.value } })
      return ''
    } catch (thrown) {
      return messageOf(thrown)
    }
  }
  const headLines = (width: number): readonly string[] => {
    const leftMs = request.untilMs === null ? null : request.untilMs - options.wallTime()
    const left = leftMs === null ? '' : ` Without an answer, the run stops in ${timeLeft(leftMs)}.`
    return [
      ruler(width, style),
      ...hanging('? ', `${limitQuestion(request)} ${limitReason(request)}${left}`, width).map(style.bold),
    ]
  }
  return {
    unsentText: '',
    isAnswerKey: (data) => writing === undefined && choices.some(({ key }) => key === typedCharacter(data)),
    render(width) {
      if (writing === undefined) return [...headLines(width), ...choiceLines(choices, width, style)]
      const { field, problem } = writing
      return [
        ...headLines(width),
        ...writtenLines(field, width),
        ...(problem === '' ? [] : hanging('  ', revealHiddenInLine(problem, 300), width).map(style.red)),
        ...choiceLines(writingKeys('raise'), width, style),
      ]
    },
    handleInput(data) {
      if (writing !== undefined) return handleWriting(writing, data)
      if (isPressed(data, 'escape')) return answerWith({ end: true })
      const typed = typedCharacter(data)
      choices.find(({ key }) => key === typed)?.choose()
    },
  }
}
