export { isReadOnlyCommand } from './read-only.ts'
export { answerOfExitOne } from './exit-answer.ts'
