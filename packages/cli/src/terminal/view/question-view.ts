import { askPerson } from './ask-person.ts'
import { permissionQuestion } from './permission-question.ts'
import { planQuestion } from './plan-question.ts'
import type { QuestionOptions, QuestionView } from './question-parts.ts'

export type { QuestionOptions } from './question-parts.ts'
export { limitQuestionView } from './limit-question.ts'
export { serverQuestionView } from './server-question.ts'

/** A question of the session as a person is asked it, with keys of its own. It takes the editor's place; whoever shows it waits until nobody types. */
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
