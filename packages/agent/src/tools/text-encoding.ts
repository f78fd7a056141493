/** How a text file is written as bytes. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be'

export interface WrittenText {
  readonly text: string
  readonly encoding: TextEncoding
  /** The file begins with a byte order mark, which is not part of `text`. */
  readonly hasMark: boolean
}

const mark = '\uFEFF'

/**
 * The encoding by the first bytes of a file: a byte order mark, or zeros in every second place, as in Latin text in
 * UTF-16.
 */
export function encodingOf(start: Uint8Array): TextEncoding {
  const [first, second, third, fourth] = start
  // UTF-32 begins the same way, and is not supported.
  if (first === 0xff && second === 0xfe && (third !== 0 || fourth !== 0)) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return encodingByZeros(start.subarray(0, 4096))
}

function encodingByZeros(start: Uint8Array): TextEncoding {
  if (!start.includes(0)) return 'utf-8'
  const zeros: [number, number] = [0, 0]
  for (const [at, byte] of start.entries()) if (byte === 0) zeros[at % 2 === 0 ? 0 : 1] += 1
  const [even, odd] = zeros
  const encoding = odd > even ? 'utf-16le' : 'utf-16be'
  const isLikely =
    start.length >= 4 && Math.max(even, odd) >= start.length / 4 && Math.min(even, odd) < start.length / 32
  return isLikely && isPlainText(start, encoding) ? encoding : 'utf-8'
}

/** Whether the text has no control characters: two-byte numbers look like UTF-16 too, but contain such characters. */
function isPlainText(start: Uint8Array, encoding: TextEncoding): boolean {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(start, { stream: true })
    return !/[^\P{Cc}\t\n\v\f\r]/u.test(text)
  } catch {
    return false
  }
}

/** Decodes strictly: undefined if encoding the text again would not return the same bytes. */
export function decodedText(bytes: Uint8Array): WrittenText | undefined {
  const encoding = encodingOf(bytes)
  try {
    const whole = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes)
    const hasMark = whole.startsWith(mark)
    return { text: hasMark ? whole.slice(1) : whole, encoding, hasMark }
  } catch {
    return undefined
  }
}

export function encodedText({ text, encoding, hasMark }: WrittenText): Buffer {
  const bytes = Buffer.from(hasMark ? mark + text : text, encoding === 'utf-8' ? 'utf8' : 'utf16le')
  return encoding === 'utf-16be' ? bytes.swap16() : bytes
}

/** For users and models: `UTF-16 (little-endian)`. */
export function nameOfEncoding(encoding: TextEncoding): string {
  return { 'utf-8': 'UTF-8', 'utf-16le': 'UTF-16 (little-endian)', 'utf-16be': 'UTF-16 (big-endian)' }[encoding]
}
