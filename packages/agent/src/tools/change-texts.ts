// Results of Write and Edit, and reasons why a file cannot be changed.
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'

const readCall = (path: string): string => nextCall('Read', { file_path: path })
const readThen = (path: string, next: string, has: HasTool): string =>
  has('Read') ? ` Use ${readCall(path)}, then ${next}.` : ' It must be read first, but Read is not available.'

export const notRead = (path: string, has: HasTool): string =>
  `${path} has not been read yet.${readThen(path, 'repeat this call', has)}`
export const existsUnread = (path: string, has: HasTool): string =>
  `${path} already exists and has not been read yet.${readThen(path, 'repeat this call', has)}`
export const changedSinceRead = (path: string, has: HasTool): string =>
  `${path} has changed since you read it.${readThen(path, 'repeat this call with the new text', has)}`
/** After `changedSinceRead`. */
export const whatHasChanged = (diff: string): string => ` What changed:\n${diff}`
export const changedMeanwhile = (path: string): string =>
  `${path} was changed by another program during this call, so it was not written. Use ${readCall(path)}, then try again.`
export const notWrittenAborted = (path: string): string => `${path} was not written: the call was aborted.`
export const ambiguousEncoding = (path: string, encoding: string): string =>
  `${path} is ${encoding} without a byte order mark, and this text would no longer be recognized as that. The file was not changed. Convert it first, for example with iconv.`

// What is at the path instead of a text file.

export const notAFile = (path: string, what: 'directory' | 'special', toolName: string): string =>
  what === 'directory'
    ? `${path} is a directory. ${toolName} works on files only.`
    : `${path} is not a regular file. ${toolName} works on regular files only.`
export function notText(
  path: string,
  why: { readonly moreBytesThan: number } | 'UTF-8' | 'UTF-16',
  toolName: string,
  has: HasTool,
): string {
  const what = typeof why === 'string' ? `is not valid ${why} text` : `is larger than ${why.moreBytesThan} bytes`
  return `${path} ${what}, so ${toolName} cannot change it safely.${has('Bash') ? ' Use Bash instead.' : ''}`
}
export const missingToEdit = (path: string, hints: string, has: HasTool): string =>
  `${path} does not exist. To create it, ${has('Write') ? 'use Write' : 'leave old_string empty'}.${hints}`

// Secrets that the model has not seen.

export const losesSecretsOfFile = (path: string, mark: string, has: HasTool): string =>
  `${path} contains secrets that were shown to you as ${mark}. Your content has ${mark} in their place, so they would be lost.${has('Edit') ? ' Use Edit for the other lines.' : ''}`
export const losesSecretsOfCell = (mark: string): string =>
  `The cell contains secrets that were shown to you as ${mark}. new_source has ${mark} in their place, so they would be lost.`

// Input of Edit.

export const sameStrings = 'old_string and new_string are identical, so there is nothing to change'
export const emptyOldString = (path: string): string =>
  `${path} exists and is not empty, but old_string is empty. Set old_string to the text to replace.`
export const oldStringMissing = (path: string, why: string): string => `${path}: old_string is not in the file. ${why}`
/**
 * @param lines line numbers, up to 5 of them;
 * @param places the lines around the first of them
 */
export function oldStringAmbiguous(path: string, count: number, lines: string, places: string): string {
  return `${path}: old_string occurs ${count} times (lines ${lines}). To change one place, include more lines around it; to change all, set "replace_all": true.\n${places}`
}
export const placesSeparator = '   ...'

// What was changed.

const lineCount = (lines: number): string => (lines === 1 ? '1 line' : `${lines} lines`)
export const fileCreated = (path: string, lines: number): string => `Created ${path} (${lineCount(lines)}).`
export const fileUpdated = (path: string, lines: number): string => `Updated ${path} (${lineCount(lines)}).`
/** @param snippet numbered lines */
export const fileEdited = (path: string, count: number, notes: string, snippet: string): string =>
  `Edited ${path}${count === 1 ? '' : ` in ${count} places`}.${notes} The lines are now:\n${snippet}`
/**
 * A sentence after others.
 * @param encoding undefined for UTF-8
 */
export function encodingPreserved(encoding: string | undefined, hasMark: boolean): string {
  const parts = [...(encoding === undefined ? [] : [encoding]), ...(hasMark ? ['a byte order mark'] : [])]
  return parts.length === 0 ? '' : ` It is still stored with ${parts.join(' and ')}.`
}
export const lineEndsChanged = ' Its line endings were CRLF and are now LF.'
/** A sentence after others. */
export const hardLinks = (names: number): string =>
  names > 1 ? ` It had ${names} names (hard links); only this one has the change.` : ''

// Files that changed on disk.

export const externalChanges = (changes: string): string =>
  `[Changed on disk since you saw it, not by your own file edits. Read it again before you rely on it.\n${changes}]`
export const fileGone = (name: string): string => `${name} was deleted, or is no longer a file`
export const moreFiles = (count: number): string => `and ${count} more`
export const diffCut = '[... more]'
