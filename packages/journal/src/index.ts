// `@halting/journal`: sessions on disk.

// One session: open, read, lock.
export { openJournal, type JournalOptions, type SessionJournal } from './open-journal.ts'
export { entryOfLine, parseJournal, readJournal, type ReadJournal } from './read-journal.ts'
export { readSessionEnds, readSessionHead, type SessionEnds, outlineOf } from './session-ends.ts'
export type { RunOutline, SessionOutline } from './session-outline.ts'
export { lockSession, type LockedSession } from './lock-session.ts'
export { ResumeRejectedError } from './resume-rejected-error.ts'
export { wholeLines } from './whole-lines.ts'

// Locations of sessions and their files.
export {
  endsOf,
  type FolderBelow,
  sessionFile,
  projectsOf,
  sessionFolder,
  type SessionPlace,
  type SessionsOf,
  sessionsOf,
  shortHash,
} from './sessions/session-folder.ts'
export { fileState, type ListedFile, regularFileStats, SessionIndex } from './sessions/session-index.ts'
export { forgetAnswers, hasAnswers, noteAnswer, readAnswers, type Answers } from './sessions/answers.ts'
export {
  forgetGrades,
  gradesFile,
  noteGrade,
  readGrades,
  type NewGrade,
  type StoredGrade,
  type StoredGrades,
} from './sessions/grades.ts'
export {
  createResultFiles,
  type ResultFiles,
  type ResultFilesLimits,
  type ResultFilesOptions,
} from './sessions/result-files.ts'

// All sessions: list, fork, delete.
export {
  deleteSession,
  discardSession,
  listedFile,
  refreshSession,
  storedSessions,
  type StoredSessionFile,
} from './sessions/stored-sessions.ts'
export { copySession } from './sessions/fork-session.ts'
export { forkSession, removeFork } from './sessions/fork-session.ts'
export { cleanUpSessions, isCleanUpDue, type CleanedUp, type CleanUpOptions } from './sessions/cleanup.ts'

// Sessions in a store, with a file each.
export {
  isPostgresAddress,
  sessionStoreKey,
  sessionStoreName,
  sessionStoreSecrets,
  sessionStoreVariable,
} from './stores/store-place.ts'
export { registerWorkingCopies, workingCopiesFolder, workingCopiesOf } from './stores/working-copies.ts'
export type { CopiedSession, StoreSession, WorkingCopies, WorkingCopy } from './stores/working-copies.ts'
export { StoreWorkingCopies, type WorkingCopiesOptions } from './stores/open-working-copies.ts'

// For packages that write other files in the same format.
export { checkObject, checkText } from './check-input.ts'
export { lineOf, valueOf } from './format/line.ts'
export { payloadsFolder } from './format/payloads.ts'
export { openNewJournal } from './open-journal.ts'
export type { JournalHandle } from './journal-handle.ts'
export type { JournalState } from './format/encoder.ts'
