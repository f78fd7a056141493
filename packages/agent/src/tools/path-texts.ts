// Problems with paths, for all tools that take one.

type Doing = 'read' | 'written' | 'searched'

export const noPermission = (path: string, doing: Doing, code: string): string =>
  `${path} cannot be ${doing}: permission denied (${code}).`
export const systemRefused = (path: string, doing: Doing, code: string): string =>
  `${path} cannot be ${doing}: ${Object.hasOwn(reasons, code) ? reasons[code] : 'the operating system refused'} (${code}).`

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it no longer exists, or its folder cannot be created',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EISDIR: 'it is a directory',
  ELOOP: 'too many symbolic links, or a loop of them',
  ENAMETOOLONG: 'the name or path is too long',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is too large for this file system',
  EIO: 'the disk reported an error',
  EAGAIN: 'it has no data at the moment',
  EINVAL: 'the system does not accept this name, or cannot read this kind of file',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
}

/** A sentence after others. @param names as JSON, with other characters escaped */
export const lookAlikes = (names: string): string =>
  ` These names look the same but contain different characters: ${names}.`
/** A sentence after others. */
export const similarNames = (names: string): string => ` Similar names in that directory: ${names}.`
/** A sentence after others. */
export const nearestFolder = (missing: string, nearest: string): string =>
  ` The directory ${missing} does not exist; the nearest existing one is ${nearest}.`

/** Ends a line that is shown in part. */
export const lineCut = (leftOut: number): string => ` [... ${leftOut} characters of this line left out]`
