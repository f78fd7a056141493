import { NotWrittenError } from '@halting/policy/files'
import { notWrittenAborted } from './change-texts.ts'

/**
 * Files as the editor of the person has them: what stands there unsaved is what Read shows and Edit changes, and what is written is seen there at once.
 * Paths are real, and were judged and opened before: nothing is asked that rules and links do not allow.
 */
export interface EditorFiles {
  /** The text of a file that is on disk; undefined where the editor does not give it: then the disk counts. */
  read?(path: string, signal: AbortSignal): Promise<string | undefined>
  /** Whether the editor has written and saved it; false where it does not write this file: then it is written to disk. */
  write?(path: string, text: string, signal: AbortSignal): Promise<boolean>
}

/** An editor, and how long it is waited for. */
export interface AskedEditor {
  readonly files: EditorFiles
  readonly signal: AbortSignal
}

/** What to ask; undefined without an editor. */
export function askedEditor(files: EditorFiles | undefined, signal: AbortSignal): AskedEditor | undefined {
  return files === undefined ? undefined : { files, signal }
}

/**
 * What stands in the editor where that differs from the disk; undefined where it is the same. Many editors give lines with LF whatever the file has: with
 * what they give the ends of the lines do not change.
 */
export async function unsavedText(
  path: string,
  onDisk: string,
  { files, signal }: AskedEditor,
  mostCharacters: number,
): Promise<string | undefined> {
  const given = await files.read?.(path, signal)
  if (given === undefined || given.length > mostCharacters) return undefined
  const text = given.startsWith('\uFEFF') ? given.slice(1) : given
  if (isSameText(text, onDisk)) return undefined
  return onDisk.includes('\r\n') && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text
}

/** Whether it differs in nothing but the ends of lines. */
export function isSameText(one: string, other: string): boolean {
  return one === other || withoutReturns(one) === withoutReturns(other)
}

function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/** Writes through the editor. False where that does not write this file. @throws NotWrittenError where nobody waits any more. */
export async function writtenByEditor(path: string, text: string, { files, signal }: AskedEditor): Promise<boolean> {
  if (files.write === undefined) return false
  if (signal.aborted) throw new NotWrittenError(notWrittenAborted(path))
  return files.write(path, text, signal)
}
