import type { Json } from '@halting/core'

const longestPatchLines = 5000
const longestWorkMs = 1000

/** The change of a file, in the structured result of its tool. */
export type FileChange = {
  /** The hunks, for users and hooks. Empty if the texts are too different. */
  readonly structuredPatch: readonly Json[]
  /** Null if the texts are too different to count. */
  readonly linesAdded: number | null
  readonly linesRemoved: number | null
}

/** The change from one text to another. */
export async function changeOf(path: string, before: string, after: string): Promise<FileChange> {
  // Loaded on demand: takes 15 to 40 ms.
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch(path, path, before, after, undefined, undefined, { context: 3, timeout: longestWorkMs })
  if (patch === undefined) return { structuredPatch: [], linesAdded: null, linesRemoved: null }
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  const hunks = patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines: hunkLines }) => ({
    oldStart,
    oldLines,
    newStart,
    newLines,
    lines: hunkLines,
  }))
  return {
    structuredPatch: lines.length > longestPatchLines ? [] : hunks,
    linesAdded: count('+'),
    linesRemoved: count('-'),
  }
}

/** The creation of a file. */
export function creationOf(content: string): FileChange {
  return { structuredPatch: [], linesAdded: lineCountOf(content), linesRemoved: 0 }
}

/** Number of lines; a final line feed starts no new line. */
export function lineCountOf(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
