// `@halting/analysis/foreign`: sessions that other programs recorded. A separate entry, so that a run loads none of it.
export { findForeign, foreignFolder, type ForeignFile, type ForeignPlace } from './find-foreign.ts'
export { withoutSubagents } from './agent-files.ts'
export { kindOfSession, readForeignSession, type SessionKind } from './read-foreign.ts'
export { ReadTogether } from './read-together.ts'
export {
  programNames,
  type ForeignPart,
  type ForeignProgram,
  type ForeignSession,
  type LongLine,
  type Skipped,
} from './session.ts'
export { takeOver } from './take-over.ts'
export { recordedText, skippedText, unpricedText } from './foreign-text.ts'
