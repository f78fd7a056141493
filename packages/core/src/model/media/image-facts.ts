import { numberAt, textAt, type Bytes } from './bytes.ts'

/** The image types that are detected by their first bytes: those that the Messages API accepts. */
type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** Facts from the header of an image. */
export interface ImageFacts {
  /** Kind of the image. */
  readonly type: ImageType
  /** In pixels; undefined if it cannot be read. */
  readonly size: ImageSize | undefined
}

interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Detects type and size of an image from its bytes, regardless of its name or declared type. Reads only the header. */
export function imageFactsOf(bytes: Bytes): ImageFacts | undefined {
  const type = imageTypeOf(bytes)
  return type === undefined ? undefined : { type, size: imageSizeOf(bytes, type) }
}

function imageTypeOf(bytes: Bytes): ImageType | undefined {
  const start = textAt(bytes, 0, 12)
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'image/gif'
  return start.startsWith('RIFF') && start.startsWith('WEBP', 8) ? 'image/webp' : undefined
}

function imageSizeOf(bytes: Bytes, type: ImageType): ImageSize | undefined {
  switch (type) {
    case 'image/png':
      return sizeFrom(numberAt(bytes, 16, 4, 'big'), numberAt(bytes, 20, 4, 'big'))
    case 'image/gif':
      return sizeFrom(numberAt(bytes, 6, 2, 'little'), numberAt(bytes, 8, 2, 'little'))
    case 'image/jpeg':
      return jpegSize(bytes)
    case 'image/webp':
      return webpSize(bytes)
  }
}

function sizeFrom(width: number | undefined, height: number | undefined): ImageSize | undefined {
  // JPEG may specify the height later; it is 0 then.
  return width === undefined || height === undefined || width * height === 0 ? undefined : { width, height }
}

/** Each is at most 64 kB: no profile or comment is longer than this many. */
const maxSegments = 2_000

/** Walks the segments up to the frame header, which contains the size. Other segments are skipped. */
function jpegSize(bytes: Bytes): ImageSize | undefined {
  let at = 2
  for (let segment = 0; segment < maxSegments; segment++) {
    if (bytes.at(at) !== 0xff) return undefined
    const marker = bytes.at(at + 1)
    if (marker === undefined) return undefined
    // A fill byte, or a marker without a length.
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd9)) at += 2
    else if (isFrame(marker)) return sizeFrom(numberAt(bytes, at + 7, 2, 'big'), numberAt(bytes, at + 5, 2, 'big'))
    else {
      const length = numberAt(bytes, at + 2, 2, 'big') ?? 0
      if (length < 2) return undefined
      at += 2 + length
    }
  }
  return undefined
}

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

function webpSize(bytes: Bytes): ImageSize | undefined {
  const little = (from: number, count: number): number => numberAt(bytes, from, count, 'little') ?? Number.NaN
  switch (textAt(bytes, 12, 4)) {
    case 'VP8X':
      return validSize(little(24, 3) + 1, little(27, 3) + 1)
    case 'VP8 ':
      return validSize(little(26, 2) % 0x4000, little(28, 2) % 0x4000)
    case 'VP8L':
      return validSize((little(21, 4) % 0x4000) + 1, (Math.floor(little(21, 4) / 0x4000) % 0x4000) + 1)
    default:
      return undefined
  }
}

function validSize(width: number, height: number): ImageSize | undefined {
  return Number.isNaN(width) || Number.isNaN(height) ? undefined : sizeFrom(width, height)
}
