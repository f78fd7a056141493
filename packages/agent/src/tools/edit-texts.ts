// The most likely place of the text that an Edit should replace.
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'

/** @param mark what is shown in place of secrets */
export const oldStringRedacted = (mark: string): string =>
  `old_string contains ${mark}, but the file has a secret there that was not shown to you. Choose lines without it.`
export const matchExactly =
  'It must match exactly, including spaces and indentation, and without line numbers. Read that part of the file again.'
export const nothingSimilar = (has: HasTool): string =>
  `Nothing in the file is similar. ${has('Grep') ? 'Search for it with Grep, or read the file again' : 'Read the file again'}.`

export const lineRange = (first: number, last: number): string =>
  first === last ? `line ${first}` : `lines ${first} to ${last}`

/** Kinds of differences that are ignored to find the place. */
export const differences = {
  spaces: 'white space',
  lookAlikes: 'similar characters (quotes, dashes, spaces, accents)',
  letterCase: 'upper and lower case',
  escapes: 'escapes (\\n, \\t, \\" or \\\\ as two characters instead of one, or the reverse)',
  lineNumbers: 'the line numbers that Read shows, which are not part of the file',
  lineEnds: 'line endings (the file has carriage returns only)',
  outerSpace: 'white space at the beginning or end',
}

/** @param what kinds of differences, joined by "and" */
export const foldedMatch = (lines: string, what: string): string =>
  `The nearest match is ${lines}. It differs in ${what}.`
export const lineNumbersIncluded = (lines: string): string =>
  `old_string includes ${differences.lineNumbers}. Without them it matches ${lines}:`
/** After the sentence above. */
export const firstOfSeveral = ' There are several such places; this is the first.'
export const similarLine = (line: string): string => `The nearest match is ${line}, which is similar to old_string.`
export const similarLines = (lines: string, same: number, all: number): string =>
  `The nearest match is ${lines}: ${same} of ${all} lines are equal.`
export const moreMatchLines = (count: number): string => `[... ${count} more lines]`
/**
 * @param file the text of the file as JSON;
 * @param oldString that of old_string
 */
export const lineDifference = (line: number, file: string, oldString: string): string =>
  `Line ${line}: the file has ${file}, old_string has ${oldString}.`
/** If the lines above are not the whole place. */
export const readToCopy = (path: string, line: number, count: number): string =>
  `This is a part of it. Use ${nextCall('Read', { file_path: path, offset: line, limit: count })}, then copy old_string from the file.`
export const copyFromFile = 'The lines above are the current text of the file: copy old_string from them.'
