// Results of the Read tool for PDFs.
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'
import { pdfByBash } from './read-texts.ts'

export const wrongPages = (received: string): string => `pages must look like 3, 1-5 or 10-, but is ${received}.`
/** @param pages undefined if they cannot be counted */
export function noPdfLibrary(path: string, pages: number | undefined, has: HasTool): string {
  const size = pages === undefined ? '' : ` of ${pages} ${pages === 1 ? 'page' : 'pages'}`
  return `${path} is a PDF${size}. Read needs the package unpdf to show PDFs (npm i unpdf).${pdfByBash(has)}`
}
/** @param why a sentence */
export const unreadablePdf = (path: string, why: string, has: HasTool): string =>
  `${path} is a PDF that cannot be read. ${why}${pdfByBash(has)}`
export const noSuchPage = (path: string, pages: number, first: number): string =>
  `${path} has ${pages} ${pages === 1 ? 'page' : 'pages'}; there is no page ${first}.`
export const pageHeading = (number: number, pages: number): string => `--- page ${number} of ${pages} ---`
export const pageWithoutText = (has: HasTool): string =>
  `[No text: the page may be an image.${has('Bash') ? ' To convert it with Bash: pdftoppm -png -r 100 -f N -l N FILE OUT' : ''}]`
export const pageCut = '[... the rest of this page is left out: it is longer than one Read can show]'
export const morePages = (path: string, first: number, last: number, pages: number): string =>
  `[Pages ${first} to ${last} of ${pages}. For the rest, use ${nextCall('Read', { file_path: path, pages: `${last + 1}-` })}.]`
