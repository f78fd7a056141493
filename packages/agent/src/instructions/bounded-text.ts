import { openInPlace } from '../open-in-place.ts'
import { realPath } from '../paths.ts'
import { codeOf } from '../tools/result.ts'

/** The text of a file, or why there is none. */
export type BoundedText =
  | {
      readonly kind: 'text'
      readonly text: string
      /** Of how many bytes the file is, where not all of it was read. */
      readonly isCut: boolean
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unfit'; readonly why: string }

/** Reads no more than so many bytes, of a regular file alone: a pipe in its place would hold the program up. */
export async function boundedText(path: string, mostBytes: number): Promise<BoundedText> {
  try {
    const found = await openInPlace(realPath(path))
    if (found.kind !== 'file') return { kind: 'unfit', why: 'is no regular file' }
    try {
      const buffer = Buffer.alloc(mostBytes + 1)
      let size = 0
      for (;;) {
        const { bytesRead } = await found.file.read(buffer, size, buffer.length - size, size)
        size += bytesRead
        if (bytesRead === 0 || size === buffer.length) break
      }
      const bytes = buffer.subarray(0, Math.min(size, mostBytes))
      if (bytes.includes(0)) return { kind: 'unfit', why: 'is no text' }
      const isCut = size > mostBytes
      const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
      // The cut may have gone through a character.
      return { kind: 'text', text: isCut ? text.replace(/\uFFFD+$/, '') : text, isCut }
    } finally {
      await found.file.close()
    }
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'unfit', why: `cannot be read (${code ?? 'it changed while it was read'})` }
  }
}
