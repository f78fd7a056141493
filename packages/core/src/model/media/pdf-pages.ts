import { textAt, type Bytes } from './bytes.ts'

/** So many bytes are read at the start of a document, and as many at its end: the table of its pages is at one of them. */
const lookedAt = 1024 * 1024
/** A dictionary of a page tree is not longer than this on either side of its type. */
const aroundType = 400
const mostTrees = 1_000

/** Whether it is a PDF: its mark may stand behind other bytes. */
export function isPdf(bytes: Bytes): boolean {
  return textAt(bytes, 0, 1024).includes('%PDF-')
}

/**
 * The pages of a PDF as far as they can be told without a library: what the linearized head says, the count of the page tree, or the page
 * objects that are seen. Undefined where all of it is compressed. The work is bounded, whatever the document holds.
 */
export function pdfPagesOf(bytes: Bytes): number | undefined {
  const tailFrom = Math.max(lookedAt, bytes.length - lookedAt)
  // Where both meet, they are one text: an object may lie across.
  const parts =
    tailFrom === lookedAt
      ? [textAt(bytes, 0, 2 * lookedAt)]
      : [textAt(bytes, 0, lookedAt), textAt(bytes, tailFrom, lookedAt)]
  let objects = 0
  let told = linearizedPages(parts[0] ?? '')
  for (const part of parts) {
    let trees = 0
    for (const match of part.matchAll(pageTypes)) {
      if (match[1] === undefined) objects++
      else if (trees++ < mostTrees) told = Math.max(told, countNear(part, match.index))
    }
  }
  const pages = Math.max(told, objects)
  return pages === 0 ? undefined : pages
}

const pageTypes = /\/Type\s{0,4}\/Page(s)?(?![A-Za-z])/g

function linearizedPages(head: string): number {
  const at = head.indexOf('/Linearized')
  return at === -1 || at > 2_048 ? 0 : numberOf(/\/N\s{0,4}(\d{1,7})(?!\d)/.exec(head.slice(at, at + aroundType)))
}

/** The count of the dictionary that says it is a page tree. Outlines have counts too. */
function countNear(text: string, at: number): number {
  const before = text.slice(Math.max(0, at - aroundType), at)
  const after = text.slice(at, at + aroundType)
  const start = before.lastIndexOf('<<')
  const end = after.indexOf('>>')
  const dictionary = before.slice(start === -1 ? 0 : start) + after.slice(0, end === -1 ? undefined : end)
  return numberOf(/\/Count\s{0,4}(\d{1,7})(?!\d)/.exec(dictionary))
}

function numberOf(match: RegExpExecArray | null): number {
  return Number(match?.[1] ?? 0)
}
