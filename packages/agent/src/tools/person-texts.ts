// Results of AskUserQuestion and ExitPlanMode.

export const noQuestions = 'AskUserQuestion: questions is empty. Give at least one.'

/** @param answers a question and its answer each, from `answerTo` */
export const userAnswered = (answers: readonly string[]): string => `Answers of the user:\n\n${answers.join('\n\n')}`

/** @param answer undefined if the user left it open */
export function answerTo(question: string, answer: string | undefined): string {
  return `${question}\n${answer === undefined ? noAnswer : `Answer: ${answer}`}`
}

const noAnswer = 'Not answered. Choose the most reasonable interpretation and state it in your answer.'

export const planApproved = 'The user approved the plan. Plan mode has ended: implement the plan now.'
