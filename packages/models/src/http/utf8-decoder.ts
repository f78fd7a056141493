/** Reads text out of bytes in UTF-8, wherever they were cut. */
export interface Utf8Decoder {
  /** The characters that these bytes complete; the beginning of one waits for the rest of it. */
  decode(bytes: Uint8Array): string
}

const nothing = new Uint8Array(0)

/**
 * Gives what `TextDecoder` gives of a stream, several times as fast: a byte order mark is left out at the beginning, and
 * what is no UTF-8 becomes U+FFFD. The beginning of a character that nothing follows is never returned.
 */
export function createUtf8Decoder(): Utf8Decoder {
  let held: Uint8Array = nothing
  let isBeginning = true
  return {
    decode(bytes) {
      const all = held.length === 0 ? bytes : Buffer.concat([held, bytes])
      const end = endOfWhole(all)
      // A copy: what is held must not change with a buffer of somebody else.
      held = end === all.length ? nothing : all.slice(end)
      if (end === 0) return ''
      const text = Buffer.from(all.buffer, all.byteOffset, end).toString('utf8')
      if (!isBeginning) return text
      isBeginning = false
      return text.startsWith('\u{feff}') ? text.slice(1) : text
    },
  }
}

/** Where the last character ends that is whole. A byte that begins one begins it whatever stands before. */
function endOfWhole(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0
    if (byte < 0x80) return length
    if (byte >= 0xc0) return bytesOfCharacter(byte) > back ? length - back : length
  }
  return length
}

function bytesOfCharacter(first: number): number {
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}
