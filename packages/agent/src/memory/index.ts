// `@halting/agent/memory`: notes that outlive a session. A separate entry, so that runs without memory load none of it.
export { mostWrittenCharacters } from './sayings.ts'
export { type Note, type NoteSource } from './note.ts'
export { type MemoryText, memoryText } from './memory-text.ts'
export { type Memory, readMemory, type ReadTopic } from './read-memory.ts'
export { type Question } from './extraction.ts'
export { type Ask, type Asked, dream, type DreamEnd, type DreamOptions, extract, type Extracted } from './run-memory.ts'
export { type PersonSaid, type Said, saidIn, type SaidOptions } from './said.ts'
export {
  dreamStage,
  type DreamStageOptions,
  type ExtractionStageOptions,
  memoryStage,
  memoryStages,
  type MemoryStageOptions,
  type MemoryStagesOptions,
} from './stages.ts'
export { forgetNotes, type Forgotten, holdingMemory, type HeldMemory, MemoryError, placedNotes } from './store.ts'
export { undoDream, type Undone } from './undo-dream.ts'
