export { firstEntries, type FirstEntries } from './first-entries.ts'
export { bracesExpanded, bracketReadings, fitsPath, globPattern } from './glob-pattern.ts'
export {
  bothEnds,
  isInside,
  statOf,
  shownPath,
  pathOutside,
  homeFolder,
  absolutePath,
  isDirectory,
  type Environment,
  isInsideAny,
} from './paths.ts'
export { calledPath, foldedName, hasCounterparts, lookAlikesOf } from './same-looking.ts'
export { boundedText, boundedBytes } from './bounded-text.ts'
export {
  inFolderSync,
  isOpenAt,
  type HeldFolder,
  holdFolder,
  named,
  PathMovedError,
  type InPlace,
  openInPlace,
  NotWrittenError,
} from './open-in-place.ts'
