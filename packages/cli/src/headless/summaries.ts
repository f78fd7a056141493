import type { ContentBlock } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { many } from '../io/figures.ts'
import { patchToolName } from '../frontends/patch-files.ts'

/** What of a result tells a person how the call went. */
export function resultSummary(tool: string, content: string | readonly ContentBlock[], details: unknown): string {
  const fields = isJsonObject(details) ? details : {}
  if (tool === 'Read' && typeof fields.numLines === 'number') return many(fields.numLines, 'line')
  if (tool === 'Edit' && Array.isArray(fields.structuredPatch)) return changeSummary(fields.structuredPatch)
  if (tool === patchToolName && Array.isArray(fields.files))
    return `${many(fields.files.length, 'file')}: ${changeSummary(fields.files.flatMap(patchOf))}`
  if (tool === 'Bash' && typeof fields.exitCode === 'number' && fields.exitCode !== 0)
    return `exit code ${fields.exitCode}`
  const lines = textOf(content)
    .split('\n')
    .filter((line) => line.trim() !== '')
  // Of a command the last line tells how it went.
  const shown = (tool === 'Bash' ? lines.at(-1) : lines[0]) ?? ''
  return lines.length > 1 ? `${shown} (${many(lines.length, 'line')})` : shown
}

const toldLines = 5

/** The last lines that a failed command wrote: they mostly tell why. */
export function lastLinesOfFailed(details: unknown): readonly string[] {
  if (!isJsonObject(details) || typeof details.stdout !== 'string') return []
  return details.stdout
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-toldLines)
}

function textOf(content: string | readonly ContentBlock[]): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

/** The hunks of one file of a patch; a new file has none. */
function patchOf(file: unknown): readonly unknown[] {
  return isJsonObject(file) && Array.isArray(file.structuredPatch) ? file.structuredPatch : []
}

function changeSummary(hunks: readonly unknown[]): string {
  const lines = hunks.flatMap((hunk) => (isJsonObject(hunk) && Array.isArray(hunk.lines) ? hunk.lines.map(String) : []))
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return `${many(count('+'), 'line')} added, ${count('-')} removed`
}
