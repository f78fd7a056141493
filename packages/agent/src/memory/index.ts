// `@halting/agent/memory`: notes that outlive a session. A separate entry, so that runs without memory load none of it.
export { maxTypedCharacters } from './sentences.ts'
export { type Note, type NoteSource } from './note.ts'
export { type MemoryText, memoryText } from './memory-text.ts'
export { type Memory, readMemory, type ReadTopic } from './read-memory.ts'
export { type Question } from './extraction.ts'
export {
  type Ask,
  type ModelAnswer,
  dream,
  type DreamEnd,
  type DreamOptions,
  extract,
  type ExtractionResult,
} from './run-memory.ts'
export {
  type UserMessage,
  type UserStatements,
  userStatementsIn,
  type UserStatementsOptions,
} from './user-statements.ts'
export {
  dreamStage,
  type DreamStageOptions,
  type ExtractionStageOptions,
  memoryStage,
  memoryStages,
  type MemoryStageOptions,
  type MemoryStagesOptions,
} from './stages.ts'
export {
  forgetNotes,
  type RemovedNotes,
  withLockedMemory,
  type LockedMemory,
  MemoryError,
  placedNotes,
} from './store.ts'
export { undoDream, type UndoResult } from './undo-dream.ts'
