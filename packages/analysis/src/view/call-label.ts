import { isJsonObject, patchPaths } from '@halting/core/adapters'

/** Longer labels are cut to one line. */
export const maxLabelLength = 200

/** A call in one line: the tool with the first text of its input, such as a command, a path or a pattern. */
export function callLabel(tool: string, input: unknown): string {
  return `${tool} ${subjectOf(input)}`.trimEnd()
}

function subjectOf(input: unknown): string {
  if (!isJsonObject(input)) return ''
  const text = Object.values(input).find((value) => typeof value === 'string')
  return typeof text === 'string' ? (patchPaths(text) ?? text).slice(0, maxLabelLength).replaceAll(/\s+/g, ' ') : ''
}
