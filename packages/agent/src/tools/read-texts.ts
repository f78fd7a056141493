// Results of the Read tool for text files and images, and files that Read does not open.
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'

/** @param hints sentences about similar names, each after a space */
export const missingFile = (path: string, cwd: string, hints: string): string =>
  `${path} does not exist.${hints} The working directory is ${cwd}.`
export function notFoundAnywhere(name: string): string {
  // Glob has no escape for braces.
  const pattern = `**/${name.replaceAll('\\', '\\\\').replaceAll(/[{}]/g, '?')}`
  return ` To search for it, use ${nextCall('Glob', { pattern })}.`
}
export const readDirectory = (path: string, has: HasTool): string =>
  `${path} is a directory.${has('Glob') ? ` To list its files, use ${nextCall('Glob', { pattern: '**/*', path })}.` : ''}`
export const readSpecialFile = (path: string): string =>
  `${path} is not a regular file (it is a device, pipe or socket). Read does not open it.`
export const binaryFile = (path: string, has: HasTool): string =>
  `${path} is a binary file, which Read cannot show.${has('Bash') ? ' Use Bash, for example with file or xxd.' : ''}`

// Images and PDFs.

export const imageTooLarge = (path: string, bytes: number, most: number): string =>
  `${path} has ${bytes} bytes; Read takes images of at most ${most}. Create a smaller copy and read that.`
export const damagedImage = (path: string): string =>
  `${path} cannot be shown as an image: it is damaged or incomplete (no width and height).`
/** @param why a sentence */
export const imageNotShown = (path: string, why: string): string => `${path} cannot be shown as an image. ${why}`
export const pdfTooLarge = (path: string, bytes: number, most: number, has: HasTool): string =>
  `${path} is a PDF of ${bytes} bytes; Read takes at most ${most}.${pdfByBash(has)}`
export const pdfByBash = (has: HasTool): string =>
  has('Bash') ? ' To get its text with Bash: pdftotext -f 1 -l 10 FILE - (prints pages 1 to 10).' : ''

// Text.

export const emptyFile = (path: string): string => `${path} exists and is empty.`
export const offsetBeyondEnd = (path: string, lines: number, offset: number): string =>
  `${path} has ${lines === 1 ? '1 line' : `${lines} lines`}; there is no line ${offset}. Use an offset of at most ${lines}.`
export const offsetNotReached = (path: string, line: number, bytes: number, has: HasTool): string =>
  `Line ${line} of ${path} is beyond the first ${bytes} bytes, which is all that Read scans.${byTail(has)}`

const byTail = (has: HasTool): string => (has('Bash') ? ' Use Bash, for example with tail or sed -n.' : '')

/** @param total lines of the whole file; undefined if it was not read to its end */
export function moreLines(path: string, first: number, last: number, total: number | undefined): string {
  const of = total === undefined ? '' : ` of ${total}`
  return `[Lines ${first} to ${last}${of}. For the rest, use ${nextCall('Read', { file_path: path, offset: last + 1 })}.]`
}

export const scanStopped = (has: HasTool): string => `[The file continues, but Read stopped here.${byTail(has)}]`
export const undecodedBytes = (encoding: string, has: HasTool): string =>
  `[\uFFFD marks bytes that are not valid ${encoding}.${has('Edit') ? ' Edit does not change files with such bytes.' : ''}]`
