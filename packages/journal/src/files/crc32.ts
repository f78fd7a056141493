// CRC-32 as of zlib (ISO 3309). Who reads a session takes the sum of every byte of it: zlib does that. To load zlib takes longer than to sum what a short run
// writes: that is done here.

const table: Uint32Array = new Uint32Array(256).map((_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ 0xedb88320
  return rest
})

/** For little. */
export function crc32OfLittle(bytes: Uint8Array): number {
  let rest = 0xffffffff
  for (const byte of bytes) rest = (rest >>> 8) ^ (table[(rest ^ byte) & 0xff] ?? 0)
  return (rest ^ 0xffffffff) >>> 0
}

let zlib: typeof import('node:zlib') | undefined

/** For much. `before` is the sum of what comes before these bytes. */
export function crc32OfMuch(bytes: Uint8Array, before = 0): number {
  zlib ??= process.getBuiltinModule('node:zlib')
  return zlib.crc32(bytes, before)
}

/** For what is written: as zlib does it from when a longer session has loaded that. */
export function crc32OfWritten(bytes: Uint8Array): number {
  return zlib === undefined ? crc32OfLittle(bytes) : zlib.crc32(bytes)
}
