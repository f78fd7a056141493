/** What the paths of an index say about the files that git will read. */
export interface IndexPaths {
  readonly hasSubmodules: boolean
  /** Every folder that git passes through to reach a tracked file, relative to the work tree; one character per byte. */
  readonly folders: ReadonlySet<string>
}

/**
 * Parses the paths of an index file. Undefined unless it is read exactly as git would read it, and for a path that leaves the work tree: git opens
 * tracked paths without checking them.
 */
export function readIndexPaths(bytes: Buffer, hashBytes: number): IndexPaths | undefined {
  const version =
    bytes.length >= 12 + hashBytes && bytes.toString('latin1', 0, 4) === 'DIRC' ? bytes.readUInt32BE(4) : 0
  if (version < 2 || version > 4) return undefined
  const count = bytes.readUInt32BE(8)
  const end = bytes.length - hashBytes
  const folders = new Set<string>()
  const starts: number[] = []
  let hasSubmodules = false
  let charactersLeft = maxCharacters
  let [at, name, folder] = [12, '', '']
  for (let entry = 0; entry < count; entry += 1) {
    const flagsAt = at + 40 + hashBytes
    if (flagsAt + 4 > end) return undefined
    const flags = bytes.readUInt16BE(flagsAt)
    const nameAt = flagsAt + ((flags & extended) === 0 ? 2 : 4)
    const read = version === 4 ? packedName(bytes, nameAt, name) : plainName(bytes, nameAt)
    // If the length in the entry contradicts the end of the name, git would read another name.
    if (read === undefined || Math.min(read.name.length, longestLength) !== (flags & longestLength)) return undefined
    const mode = bytes.readUInt16BE(at + 26)
    if ((charactersLeft -= read.name.length) < 0) return undefined
    if (!isInsideTree(mode === sparseFolder ? read.name.replace(/\/$/, '') : read.name)) return undefined
    hasSubmodules ||= (mode & kindOfMode) === submodule
    starts.push(version !== 4 || read.removes === name.length ? at : -1)
    name = read.name
    at = version === 4 ? read.end : at + ((read.end - at + 7) & ~7)
    const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')))
    if (parent !== folder) charactersLeft -= addFolders(folders, parent)
    folder = parent
  }
  return at <= end && hasPlainExtensions(bytes, { at, end, hashBytes, starts }) ? { hasSubmodules, folders } : undefined
}

/** Maximum number of characters of all names and folders, so that the analysis does not take too long. Half a million files have fewer. */
const maxCharacters = 40_000_000
const extended = 0x4000
const longestLength = 0xfff
const kindOfMode = 0o170000
const submodule = 0o160000
const sparseFolder = 0o040000

interface EntryName {
  readonly name: string
  /** Number of characters of the previous name that are removed. */
  readonly removes: number
  /** Index after the NUL that ends the name. */
  readonly end: number
}

function plainName(bytes: Buffer, at: number): EntryName | undefined {
  const end = bytes.indexOf(0, at)
  return end < 0 ? undefined : { name: bytes.toString('latin1', at, end), removes: 0, end: end + 1 }
}

/** Version 4 omits the part that a name shares with the previous one. */
function packedName(bytes: Buffer, at: number, before: string): EntryName | undefined {
  const removes = readVarint(bytes, at)
  const rest = removes === undefined ? undefined : plainName(bytes, removes.end)
  if (removes === undefined || rest === undefined || removes.value > before.length) return undefined
  const name = before.slice(0, before.length - removes.value) + rest.name
  return { name, removes: removes.value, end: rest.end }
}

/** Undefined if the value exceeds every valid count or length of an index. */
function readVarint(bytes: Buffer, from: number): { readonly value: number; readonly end: number } | undefined {
  let at = from
  let byte = bytes[at++] ?? 0
  let value = byte & 0x7f
  while ((byte & 0x80) !== 0) {
    byte = bytes[at++] ?? 0
    value = (value + 1) * 128 + (byte & 0x7f)
    if (value > maxCharacters) return undefined
  }
  return { value, end: at }
}

/** Shared indexes have entries with empty names. */
function isInsideTree(name: string): boolean {
  return name === '' || !/(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(name)
}

/** @returns The number of characters that were added. */
function addFolders(folders: Set<string>, parent: string): number {
  let characters = 0
  for (let folder = parent; folder !== '' && !folders.has(folder) && characters <= maxCharacters;) {
    folders.add(folder)
    characters += folder.length
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
  }
  return characters
}

interface ReadEntries {
  /** Index after the last entry. */
  readonly at: number
  /** Index after the last extension. */
  readonly end: number
  readonly hashBytes: number
  /** The positions at which git may begin to read entries; -1 for an entry that depends on the previous name. */
  readonly starts: readonly number[]
}

/**
 * With several threads, git starts to read in the middle, at offsets that extensions contain; these offsets must lead to
 * the same entries. Names in the untracked cache are checked like paths.
 */
function hasPlainExtensions(bytes: Buffer, { at, end, hashBytes, starts }: ReadEntries): boolean {
  // The last extension gives the start of the others. git searches for it at the position that it has with SHA-1.
  for (const last of [end - 32, end - 44])
    if (last >= at && isExtension(bytes, last, 'EOIE') && bytes.readUInt32BE(last + 8) !== at) return false
  for (let next = at; next + 8 <= end;) {
    const length = bytes.readUInt32BE(next + 4)
    const behind = next + 8 + length
    if (behind > end) return false
    if (isExtension(bytes, next, 'UNTR') && !hasPlainFolders(bytes, next + 8, behind, hashBytes)) return false
    if (isExtension(bytes, next, 'IEOT')) {
      let entry = 0
      for (let block = next + 12; block + 8 <= behind; block += 8) {
        if (starts[entry] !== bytes.readUInt32BE(block)) return false
        entry += bytes.readUInt32BE(block + 4)
      }
      if (entry !== starts.length) return false
    }
    next = behind
  }
  return true
}

/** git enters the folders that the untracked cache lists, and lists their names. */
function hasPlainFolders(bytes: Buffer, from: number, end: number, hashBytes: number): boolean {
  const place = readVarint(bytes, from)
  const pattern = place === undefined ? undefined : plainName(bytes, place.end + place.value + 76 + 2 * hashBytes)
  if (pattern === undefined) return false
  if (pattern.end >= end - 1) return pattern.end <= end
  const count = readVarint(bytes, pattern.end)
  if (count === undefined) return false
  let at = count.end
  let expected = count.value === 0 ? 0 : 1
  for (let folder = 0; folder < count.value; folder += 1) {
    const files = readVarint(bytes, at)
    const folders = files === undefined ? undefined : readVarint(bytes, files.end)
    const name = folders === undefined ? undefined : plainName(bytes, folders.end)
    if (files === undefined || folders === undefined || name === undefined) return false
    if (folder > 0 && (name.name === '' || name.name.includes('/') || !isInsideTree(name.name))) return false
    at = name.end
    for (let file = 0; file < files.value; file += 1) {
      const untracked = plainName(bytes, at)
      if (untracked === undefined || untracked.end > end || !isInsideTree(untracked.name.replace(/\/$/, '')))
        return false
      at = untracked.end
    }
    expected += folders.value
  }
  // git does not check that the count matches the number that it allocates.
  return at <= end && expected === count.value
}

function isExtension(bytes: Buffer, at: number, name: string): boolean {
  return bytes.toString('latin1', at, at + 4) === name
}
