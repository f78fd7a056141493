export { firstEntries, type FirstEntries } from './first-entries.ts'
export {
  bracesExpanded,
  bracketReadings,
  matchesPath,
  globPattern,
  type GlobPattern,
  type SegmentPattern as GlobSegment,
  type Token as GlobToken,
} from './glob-pattern.ts'
export {
  bothEnds,
  isInside,
  statOf,
  displayPath,
  searchPathOutside,
  homeFolder,
  absolutePath,
  isDirectory,
  type Environment,
  isInsideAny,
} from './paths.ts'
export { resolveToolPath, foldedName, mayHaveLookAlikes, lookAlikesOf } from './look-alikes.ts'
export { boundedText, boundedBytes, type BoundedBytes, type BoundedText } from './bounded-text.ts'
export {
  inFolderSync,
  isOpenAt,
  type PinnedFolder,
  pinFolder,
  errorNaming,
  PathMovedError,
  type OpenedInPlace,
  openInPlace,
  NotWrittenError,
} from './open-in-place.ts'
export { diskOf, type Disk, type OpenFile } from './disk.ts'
export { expireMounts, isOnLocalDisk, mountTypeOf } from './mounts.ts'
export {
  changedPathsOf,
  parsePatch,
  patchedFilesOf,
  patchTextOf,
  patchToolName,
  type ChangedPath,
  type ParsedPatch,
  type PatchedFile,
  type PatchHunk,
  type PatchLine,
  type PatchProblem,
} from './patch-format.ts'
