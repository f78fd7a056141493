// `@halting/agent/foreign`: sessions that other programs recorded. An entry of its own, so that a run loads none of it.
export { findForeign, foreignFolder, type ForeignFile, type ForeignPlace } from './find-foreign.ts'
export { kindOfSession, ReadTogether, readForeignSession, withoutSubagents, type SessionKind } from './read-foreign.ts'
export {
  programNames,
  type ForeignPart,
  type ForeignProgram,
  type ForeignSession,
  type LongLine,
  type Skipped,
} from './session.ts'
export type { SharedLines } from './shared-lines.ts'
export { takeOver } from './take-over.ts'
