import { isJsonObject } from '@halting/core/adapters'
import type { TranscriptCall } from './session-transcript.ts'

/** Lines of a change in the form of a patch: a sign, and the line. */
export type ChangeLines = readonly string[]

/** What a call of Edit, Write or apply_patch changed: from its result, or else from its input. Empty for other calls. */
export function changeLines({ name, input, details, isError }: TranscriptCall): ChangeLines {
  if (isError || !isJsonObject(input)) return []
  if (name === 'apply_patch') return patchLines(input['input'] ?? input['patch'])
  const hunks = isJsonObject(details) ? details['structuredPatch'] : undefined
  if (Array.isArray(hunks) && hunks.length > 0) return hunks.flatMap(hunkLines)
  const { old_string: before, new_string: after, content } = input
  if (name === 'Edit' && typeof before === 'string' && typeof after === 'string')
    return [...withSign('-', before), ...withSign('+', after)]
  return name === 'Write' && typeof content === 'string' ? withSign('+', content) : []
}

/** The lines of a patch without its begin and end marks. */
function patchLines(patch: unknown): readonly string[] {
  if (typeof patch !== 'string') return []
  return patch.split('\n').filter((line) => line !== '' && !/^\*\*\* (?:Begin|End) Patch\s*$/.test(line))
}

function hunkLines(hunk: unknown): readonly string[] {
  if (!isJsonObject(hunk) || !Array.isArray(hunk['lines'])) return []
  const { oldStart, oldLines, newStart, newLines, lines } = hunk
  const figures = [oldStart, oldLines, newStart, newLines].map((value) => (typeof value === 'number' ? value : 0))
  return [
    `@@ -${figures[0]},${figures[1]} +${figures[2]},${figures[3]} @@`,
    ...(lines as readonly unknown[]).map(String),
  ]
}

function withSign(sign: string, text: string): readonly string[] {
  if (text === '') return []
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => sign + line)
}
