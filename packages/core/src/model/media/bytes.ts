/** Random access to bytes: a `Uint8Array`, or base64 without decoding it as a whole. */
export interface Bytes {
  readonly length: number
  at(index: number): number | undefined
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const sextets = new Int8Array(128).fill(-1)
for (let value = 0; value < alphabet.length; value++) sextets[alphabet.charCodeAt(value)] = value

/** The bytes of a base64 text, decoded on access; undefined if the text is not base64. */
export function bytesOfBase64(text: string): Bytes {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === padding && text.length - end < 2) end--
  const length = Math.floor((end * 3) / 4)
  return {
    length,
    at(index) {
      if (index < 0 || index >= length) return undefined
      const [quartet, place] = [Math.floor(index / 3) * 4, index % 3]
      const [left, right] = [sextetAt(text, quartet + place), sextetAt(text, quartet + place + 1)]
      if (left < 0 || right < 0) return undefined
      return ((left << (2 * place + 2)) | (right >> (4 - 2 * place))) & 0xff
    },
  }
}

const padding = 0x3d

function sextetAt(text: string, index: number): number {
  return sextets[text.charCodeAt(index)] ?? -1
}

/** Bytes as text, one character per byte, up to the first unreadable one. */
export function textAt(bytes: Bytes, from: number, count: number): string {
  const end = Math.min(bytes.length, from + count)
  let text = ''
  const part: number[] = []
  for (let index = Math.max(0, from); index < end; index++) {
    const byte = bytes.at(index)
    if (byte === undefined) break
    part.push(byte)
    if (part.length === partLength) text += String.fromCharCode(...part.splice(0))
  }
  return text + String.fromCharCode(...part)
}

/** A number of arguments that every engine accepts. */
const partLength = 4_096

/** A multi-byte number, big-endian or little-endian; undefined if the bytes end before it does. */
export function numberAt(bytes: Bytes, from: number, count: number, order: 'big' | 'little'): number | undefined {
  let value = 0
  for (let step = 0; step < count; step++) {
    const byte = bytes.at(order === 'big' ? from + step : from + count - 1 - step)
    if (byte === undefined) return undefined
    value = value * 256 + byte
  }
  return value
}
