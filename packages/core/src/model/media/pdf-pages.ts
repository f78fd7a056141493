import { textAt, type Bytes } from './bytes.ts'

/** Number of bytes to read at the start and at the end of a document: the page tree is in one of these parts. */
const scannedBytes = 1024 * 1024
/** Maximum length of a page tree dictionary on either side of its type. */
const aroundType = 400
const maxTrees = 1_000

/** Whether it is a PDF. Other bytes may precede its signature. */
export function isPdf(bytes: Bytes): boolean {
  return textAt(bytes, 0, 1024).includes('%PDF-')
}

/**
 * The number of pages of a PDF, as far as it can be read without a library: from the linearized header, the page tree,
 * or the visible page objects. Undefined if everything is compressed. The work is bounded for any document.
 */
export function pdfPagesOf(bytes: Bytes): number | undefined {
  const tailFrom = Math.max(scannedBytes, bytes.length - scannedBytes)
  // If the two parts overlap they are read as one, because an object may span both.
  const parts =
    tailFrom === scannedBytes
      ? [textAt(bytes, 0, 2 * scannedBytes)]
      : [textAt(bytes, 0, scannedBytes), textAt(bytes, tailFrom, scannedBytes)]
  let objects = 0
  let pageCount = linearizedPages(parts[0] ?? '')
  for (const part of parts) {
    let trees = 0
    for (const match of part.matchAll(pageTypes)) {
      if (match[1] === undefined) objects++
      else if (trees++ < maxTrees) pageCount = Math.max(pageCount, pageCountNear(part, match.index))
    }
  }
  const pages = Math.max(pageCount, objects)
  return pages === 0 ? undefined : pages
}

const pageTypes = /\/Type\s{0,4}\/Page(s)?(?![A-Za-z])/g

function linearizedPages(head: string): number {
  const at = head.indexOf('/Linearized')
  return at === -1 || at > 2_048 ? 0 : numberIn(/\/N\s{0,4}(\d{1,7})(?!\d)/.exec(head.slice(at, at + aroundType)))
}

/** The count in a dictionary that is a page tree. Outlines have counts too. */
function pageCountNear(text: string, at: number): number {
  const before = text.slice(Math.max(0, at - aroundType), at)
  const after = text.slice(at, at + aroundType)
  const start = before.lastIndexOf('<<')
  const end = after.indexOf('>>')
  const dictionary = before.slice(start === -1 ? 0 : start) + after.slice(0, end === -1 ? undefined : end)
  return numberIn(/\/Count\s{0,4}(\d{1,7})(?!\d)/.exec(dictionary))
}

function numberIn(match: RegExpExecArray | null): number {
  return Number(match?.[1] ?? 0)
}
