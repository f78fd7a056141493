import type { Json } from '@halting/core'

const longestPatchLines = 5000
const longestWorkMs = 1000

/** The hunks between two texts, for a person's eyes and for hooks. Empty when the texts are too far apart to be worth it. */
export async function patchOf(path: string, before: string, after: string): Promise<readonly Json[]> {
  // Loaded when used: 15 to 40 ms.
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch(path, path, before, after, undefined, undefined, { context: 3, timeout: longestWorkMs })
  const hunks = patch?.hunks ?? []
  const lineCount = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0)
  if (lineCount > longestPatchLines) return []
  return hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    oldStart,
    oldLines,
    newStart,
    newLines,
    lines,
  }))
}
