import { deflateSync } from 'node:zlib'
import type { ImageBlock } from '../../src/entries/adapters.ts'

/** Valid images, made here: a PNG that decoders read, and headers of the other kinds. */

const crcTable = Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value >>> 0
})

function crcOf(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crcOf(body))
  return Buffer.concat([length, body, crc])
}

/** A complete PNG in one grey, a byte a pixel. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const pixels = deflateSync(Buffer.alloc((width + 1) * height))
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

/** The header of a PNG: its size is read from there, without the pixels. */
export function pngHead(width: number, height: number): Buffer {
  const head = png(1, 1)
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  return head
}

/** The header of a JPEG whose frame follows this many bytes of metadata. */
export function jpegHead(width: number, height: number, metadataBytes = 14): Buffer {
  const metadata = Buffer.alloc(metadataBytes + 4)
  metadata.set([0xff, 0xe1], 0)
  metadata.writeUInt16BE(metadataBytes + 2, 2)
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), metadata, Buffer.from([0xff]), frame])
}

export function gifHead(width: number, height: number): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\0\0\0', 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  return head
}

export function webpHead(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const head = Buffer.alloc(30)
  head.write('RIFF....WEBP', 'latin1')
  head.write(kind, 12, 'latin1')
  if (kind === 'VP8X') {
    head.writeUIntLE(width - 1, 24, 3)
    head.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8 ') {
    head.writeUInt16LE(width, 26)
    head.writeUInt16LE(height, 28)
  } else {
    head[20] = 0x2f
    head.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21)
  }
  return head
}

/** The text of a PDF with this many page objects. */
export function pdf(pages: number): Buffer {
  const objects = Array.from({ length: pages }, (_, page) => `${page + 3} 0 obj << /Type /Page /Parent 2 0 R >> endobj`)
  const tree = `2 0 obj << /Type /Pages /Kids [] /Count ${pages} >> endobj`
  return Buffer.from(['%PDF-1.4', '1 0 obj << /Type /Catalog >> endobj', tree, ...objects, '%%EOF'].join('\n'))
}

export function imageOf(bytes: Buffer, type = 'image/png'): ImageBlock {
  return { type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }
}

/** An image that every service accepts. */
export const tinyImage: ImageBlock = imageOf(png(1, 1))
