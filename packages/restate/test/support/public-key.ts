import type { KeyObject } from 'node:crypto'

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** A public key in the format that the engine sends to workers. Keys that begin with a zero are not made. */
export function publicKeyOf(key: KeyObject): string {
  let text = ''
  const bytes = key.export({ type: 'spki', format: 'der' }).subarray(-32)
  for (let left = BigInt(`0x${bytes.toString('hex')}`); left > 0n; left /= 58n) text = digits[Number(left % 58n)] + text
  return `publickeyv1_${text}`
}
