export { isReadOnlyCommand } from './read-only.ts'
export { answerOfExitOne } from './exit-answer.ts'
export { outlineOf, type CommandOutline, type OutlinedCommand, type OutlineWord } from './outline.ts'
export { plainCommands, type PlainLine, type PlainWords } from './plain-commands.ts'
