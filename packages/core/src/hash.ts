/**
 * A fast 53-bit hash of a text (two multiplicative lanes, as in cyrb53), chained through `link`.
 * For telling contents apart and deriving ids; not for secrets.
 */
export function hashText(text: string, link = 0): number {
  let high = 0xdeadbeef ^ link
  let low = 0x41c6ce57 ^ link ^ Math.floor(link / 4294967296)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}

/** The hash as a short text, for records. */
export function digestOf(text: string, link = 0): string {
  return hashText(text, link).toString(36)
}

/** A UUID (version 8: made from a name) that is the same wherever the same name is given. */
export function uuidOf(name: string): string {
  const hex = [hashText(name, 1), hashText(name, 2), hashText(name, 3)]
    .map((part) => part.toString(16).padStart(14, '0'))
    .join('')
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Whether a text has the form of a UUID, whoever made it. */
export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
}
