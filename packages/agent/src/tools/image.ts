import type { ImageBlock } from '@halting/core/adapters'

/** The kinds of image that the Messages API takes. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

export const imageExtensions: ReadonlySet<string> = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp'])

const largestSide = 8000

/** What an image file is by its own bytes, whatever its name says: a wrong type makes the API refuse the whole session. */
export function imageTypeOf(bytes: Buffer): ImageType | undefined {
  if (bytes.length < 12) return undefined
  if (bytes.readUInt32BE(0) === 0x89504e47) return 'image/png'
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'image/jpeg'
  if (bytes.toString('latin1', 0, 4) === 'GIF8') return 'image/gif'
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
    ? 'image/webp'
    : undefined
}

export type ImageRead =
  | { readonly kind: 'image'; readonly block: ImageBlock; readonly type: ImageType }
  | { readonly kind: 'refused'; readonly why: string }

export function readImage(bytes: Buffer, largestEncodedBytes: number): ImageRead {
  const type = imageTypeOf(bytes)
  if (type === undefined)
    return { kind: 'refused', why: 'has the name of an image but is not a PNG, JPEG, GIF or WebP file' }
  const encodedBytes = Math.ceil(bytes.length / 3) * 4
  if (encodedBytes > largestEncodedBytes) {
    return {
      kind: 'refused',
      why: `is too large: ${encodedBytes} bytes encoded, ${largestEncodedBytes} at most. Make a smaller copy and read that`,
    }
  }
  const size = sizeOf(bytes, type)
  if (size !== undefined && Math.max(size.width, size.height) > largestSide) {
    return {
      kind: 'refused',
      why: `has ${size.width} x ${size.height} pixels, ${largestSide} a side at most. Make a smaller copy and read that`,
    }
  }
  return {
    kind: 'image',
    type,
    block: { type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } },
  }
}

interface Size {
  readonly width: number
  readonly height: number
}

function sizeOf(bytes: Buffer, type: ImageType): Size | undefined {
  try {
    if (type === 'image/png') return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    if (type === 'image/gif') return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    return type === 'image/jpeg' ? jpegSize(bytes) : webpSize(bytes)
  } catch {
    return undefined
  }
}

/** Walks the segments up to the frame header, which carries the size. */
function jpegSize(bytes: Buffer): Size | undefined {
  for (let at = 2; at + 9 < bytes.length;) {
    const marker = bytes.readUInt8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function webpSize(bytes: Buffer): Size | undefined {
  const chunk = bytes.toString('latin1', 12, 16)
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk !== 'VP8L') return undefined
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
