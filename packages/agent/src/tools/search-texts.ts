// Results of Glob and Grep.
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'

export const interrupted = 'Interrupted before the search was complete.'
export const searchFailed = (toolName: string, why: string): string => `${toolName} failed: ${why}`
export const missingRoot = (path: string, cwd: string, hints: string): string =>
  `${path} does not exist, so nothing was searched.${hints} The working directory is ${cwd}.`
export const specialRoot = (path: string): string => `${path} is neither a file nor a directory.`
export const rootIsFile = (path: string, has: HasTool): string =>
  `path must be a directory, but ${path} is a file.${has('Read') ? ` To show it, use ${nextCall('Read', { file_path: path })}.` : ''}`

// ripgrep.

export const noRipgrep = 'ripgrep is not installed for this platform (@vscode/ripgrep).'
/** After `noRipgrep`. */
export const searchByBash = ' Use grep or find in Bash.'
export const ripgrepNotStarted = (message: string): string => `ripgrep could not be started: ${message}`
export const ripgrepExit = (code: string): string => `exit code ${code}`
export const searchTimedOut = (ms: number): string =>
  `[The search was stopped after ${ms} ms, so results may be missing. Narrow the search.]`
/** @param others how many more problems there were */
export const searchIncomplete = (problem: string, others: number): string =>
  `[Some of it could not be searched: ${problem}${others === 0 ? '' : ` (and ${others} more)`}]`

// Glob.

export const unsupportedPattern = 'pattern must be relative to path and must not contain ".." after a wildcard'
export const tooManyAlternatives = 'Glob: pattern has too many alternatives in braces. Use several calls.'
/** @param hints sentences, each after a space */
export const noFiles = (pattern: string, path: string, hints: string): string =>
  `No files in ${path} match ${pattern}.${hints}`
export const tryPattern = (pattern: string, path: string | undefined): string =>
  ` Try ${nextCall('Glob', { pattern, path })}.`
/** @param path of the directory */
export const patternIsFolder = (pattern: string, path: string): string =>
  ` ${pattern} is a directory, and Glob lists files. Use ${nextCall('Glob', { pattern: '**/*', path })}.`
export const ignoredFiles = (has: HasTool): string =>
  ` Files that .gitignore excludes are not searched${has('Bash') ? '; to see them, use ls or find in Bash' : ''}.`
export const filesCut = (shown: number, count: number): string =>
  `[${shown} of ${count} files, most recently changed first. To see others, narrow pattern or path.]`
export const bracketsAsName = (leftOut: number): string =>
  `Brackets were read as part of a name, because such names exist. Left out: ${leftOut === 1 ? '1 file that matches' : `${leftOut} files that match`} only if brackets mean a set of characters.`
/** A sentence after others. */
export const sameLookingFiles = (names: string): string =>
  ` These names look the same but contain different characters: ${names}.`
export const onlySameLooking = (name: string): string =>
  `No name matches the pattern exactly. This one looks the same: ${name}`

// Grep.

/** @param filters such as "glob *.ts and type js"; empty without any */
export function noMatches(pattern: string, path: string, filters: string, hints: string): string {
  return `No matches for ${JSON.stringify(pattern)} in ${path}${filters === '' ? '' : ` (only ${filters})`}.${hints}`
}
export const filterWords = { glob: 'glob', type: 'type', and: ' and ' }
export const tryIgnoringCase = ' For any letter case, set "-i": true.'
export const tryWithoutFilters = ' To search all files, leave out glob and type.'
export const tryOtherFolder = (cwd: string): string =>
  ` To search the whole project, set "path": ${JSON.stringify(cwd)}.`
export const literalPipe: string = String.raw` Note that \| matches a literal "|"; alternatives are separated by "|".`
export const allSkipped = (offset: number): string =>
  `There are results, but offset ${offset} skips all of them. Use a smaller offset.`
export const escapeHint = (has: HasTool): string =>
  String.raw`pattern is a regular expression: escape literal characters such as \{ \( \[${has('Bash') ? ', and for lookaround use grep -P in Bash' : '. Lookaround is not supported'}.`
export const useGlob = (type: string): string => `Leave out type and set "glob": "*.${type}" instead.`
export const resultsCut = (shown: number, nextOffset: number): string =>
  `[Only ${shown === 1 ? '1 result is' : `${shown} results are`} shown. For more, repeat the call with "offset": ${nextOffset}, or narrow the search.]`
export const globNote = (note: string): string => `[glob: ${note}]`
export const noNameFitsGlob = (names: string): string =>
  `[No name matches glob. These look the same but contain different characters: ${names}.]`
export const globSameLooking = (name: string): string =>
  `[No name matches glob exactly. This one looks the same: ${name}]`
