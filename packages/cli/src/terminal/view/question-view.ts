import { askPerson } from './ask-person.ts'
import { permissionQuestion } from './permission-question.ts'
import { planQuestion } from './plan-question.ts'
import type { QuestionOptions, QuestionView } from './question-parts.ts'

export type { QuestionOptions } from './question-parts.ts'
export { limitQuestionView } from './limit-question.ts'
export { serverQuestionView } from './server-question.ts'

/** The view of a permission request, in place of the editor. The caller waits until nobody is typing. */
export function questionView(options: QuestionOptions): QuestionView {
  switch (options.question.toolName) {
    case 'AskUserQuestion':
      return askPerson(options) ?? permissionQuestion(options)
    case 'EnterPlanMode':
    case 'ExitPlanMode':
      return planQuestion(options)
    default:
      return permissionQuestion(options)
  }
}
