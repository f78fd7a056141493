// `@halting/journal/files`: files that are never half written after a crash, do not block readers, and have one writer
// at a time.
export { readBoundedFile } from './regular-file.ts'
export { type BriefLock, type BriefLocked, shortIdentity, tryBriefLock } from './brief-lock.ts'
export { configFolder, homeFolder } from './config-folder.ts'
export {
  type FileRights,
  makeDurableFolder,
  moveInto,
  partOf,
  removeDraft,
  removeWhole,
  writeWhole,
} from './durable.ts'
export { holderNow, holderOf, type Locked, type LockHolder, takeLock } from './lock.ts'
export { longestLine } from './read-ahead-buffer.ts'
export { makeFolder } from './make-folder.ts'
export {
  isAlive,
  isSameProcess,
  isStopped,
  livenessOnSharedDisk,
  ownProcess,
  type ProcessIdentity,
} from './process-identity.ts'
export { newUuid } from './new-uuid.ts'
export { ownershipProblem, readSized } from './private-file.ts'
export { openRegular, openRegularSync } from './regular-file.ts'
export { realPath } from './real-path.ts'
