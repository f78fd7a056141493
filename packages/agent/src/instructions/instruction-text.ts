import { instructionsCut, instructionsHead } from './briefing-texts.ts'
import type { InstructionFile } from './instruction-files.ts'

/** An instruction file as shown to the model. */
export function instructionBlock({ path, text, importedBy, isCut }: InstructionFile): string {
  const by = importedBy === undefined ? '' : ` imported-by="${attribute(importedBy)}"`
  const rest = isCut ? instructionsCut(oneLine(path)) : ''
  return `${instructionMark(path)}${by}>\n${text}${rest}\n</instructions>`
}

/** A marker that identifies a block in a conversation. */
export function instructionMark(path: string): string {
  return `<instructions from="${attribute(path)}"`
}

/** All instructions for the system prompt; '' if there are none. */
export function instructionText(files: readonly InstructionFile[]): string {
  if (files.length === 0) return ''
  return [instructionsHead, ...files.map(instructionBlock)].join('\n\n')
}

function attribute(path: string): string {
  return oneLine(path).replaceAll('"', '&quot;')
}

function oneLine(path: string): string {
  return path.replaceAll(/\p{Cc}/gu, '?')
}
