import { NotWrittenError } from '@halting/policy/files'
import { notWrittenAborted } from './change-texts.ts'

/**
 * Files as open in the user's editor: Read shows and Edit changes unsaved text, and written text appears in the editor
 * at once. Paths are real, and were judged and opened before: the editor is never asked for a file that rules and
 * links do not allow.
 */
export interface EditorFiles {
  /**
   * Returns the text of a file that exists on disk; undefined if the editor does not provide the file: then the text
   * on disk applies.
   */
  read?(path: string, signal: AbortSignal): Promise<string | undefined>
  /**
   * Returns whether the editor has written and saved the file. False if the editor does not write this file; then the
   * file is written to disk.
   */
  write?(path: string, text: string, signal: AbortSignal): Promise<boolean>
}

/** An editor, and the signal that bounds its answers. */
export interface AskedEditor {
  readonly files: EditorFiles
  readonly signal: AbortSignal
}

/** The editor to ask; undefined without one. */
export function askedEditor(files: EditorFiles | undefined, signal: AbortSignal): AskedEditor | undefined {
  return files === undefined ? undefined : { files, signal }
}

/**
 * Returns the text in the editor if it differs from the text on disk; otherwise undefined. Many editors return lines
 * with LF, whatever line ends the file has: such text does not change the line ends.
 */
export async function unsavedText(
  path: string,
  onDisk: string,
  { files, signal }: AskedEditor,
  maxCharacters: number,
): Promise<string | undefined> {
  const editorText = await files.read?.(path, signal)
  if (editorText === undefined || editorText.length > maxCharacters) return undefined
  const text = editorText.startsWith('\uFEFF') ? editorText.slice(1) : editorText
  if (isSameText(text, onDisk)) return undefined
  return onDisk.includes('\r\n') && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text
}

/** Whether two texts differ only in line ends. */
export function isSameText(one: string, other: string): boolean {
  return one === other || withoutReturns(one) === withoutReturns(other)
}

function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/**
 * Writes through the editor. Returns false if the editor does not write this file.
 * @throws NotWrittenError if the call was aborted.
 */
export async function writtenByEditor(path: string, text: string, { files, signal }: AskedEditor): Promise<boolean> {
  if (files.write === undefined) return false
  if (signal.aborted) throw new NotWrittenError(notWrittenAborted(path))
  return files.write(path, text, signal)
}
