import { openInPlace } from './open-in-place.ts'
import { realPath } from '@halting/journal/files'
import { codeOf } from '@halting/core/adapters'

/** The text of a file, or why it was not read. */
export type BoundedText =
  | {
      readonly kind: 'text'
      /** The text that was read. */
      readonly text: string
      /** Whether the file is longer than what was read. */
      readonly isCut: boolean
    }
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'unfit'
      /** Why the file was not read, in a sentence. */
      readonly why: string
    }

/** Reads at most `maxBytes` bytes, from regular files only: reading a pipe could block the program. */
export async function boundedText(path: string, maxBytes: number): Promise<BoundedText> {
  const read = await boundedBytes(realPath(path), maxBytes)
  if (read.kind !== 'bytes') return read
  const { bytes, isCut } = read
  if (bytes.includes(0)) return { kind: 'unfit', why: 'is no text' }
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // The text may be truncated in the middle of a character.
  return { kind: 'text', text: isCut ? text.replace(/\uFFFD+$/, '') : text, isCut }
}

/** The bytes of a file, or why they were not read. */
export type BoundedBytes =
  | {
      readonly kind: 'bytes'
      /** The bytes that were read. */
      readonly bytes: Buffer
      /** Whether the file is longer than what was read. */
      readonly isCut: boolean
    }
  | Exclude<BoundedText, { readonly kind: 'text' }>

/** Like `boundedText`, but returns bytes and takes a real path: it follows no link. */
export async function boundedBytes(path: string, maxBytes: number): Promise<BoundedBytes> {
  try {
    const found = await openInPlace(path)
    if (found.kind !== 'file') return { kind: 'unfit', why: 'is not a regular file' }
    try {
      const buffer = Buffer.alloc(maxBytes + 1)
      let size = 0
      for (;;) {
        const { bytesRead } = await found.file.read(buffer, size, buffer.length - size, size)
        size += bytesRead
        if (bytesRead === 0 || size === buffer.length) break
      }
      return { kind: 'bytes', bytes: buffer.subarray(0, Math.min(size, maxBytes)), isCut: size > maxBytes }
    } finally {
      await found.file.close()
    }
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'unfit', why: `cannot be read (${code ?? 'it changed while it was read'})` }
  }
}
