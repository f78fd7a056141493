/** A local constant: interpreted code, as at each start, would otherwise look it up for each character. */
const { imul } = Math

/**
 * A fast 53-bit hash of a text (two multiplicative lanes, as in cyrb53), chained through `link`.
 * Use it to compare contents and derive ids, not for secrets.
 */
export function hashText(text: string, link = 0): number {
  let high = 0xdeadbeef ^ link
  let low = 0x41c6ce57 ^ link ^ Math.floor(link / 4294967296)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = imul(high ^ unit, 2654435761)
    low = imul(low ^ unit, 1597334677)
  }
  high = imul(high ^ (high >>> 16), 2246822507) ^ imul(low ^ (low >>> 13), 3266489909)
  low = imul(low ^ (low >>> 16), 2246822507) ^ imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}

/** The hash as a short text, for records. */
export function digestOf(text: string, link = 0): string {
  return hashText(text, link).toString(36)
}

/** A UUID (version 8) derived from a name: the same name gives the same UUID. */
export function uuidOf(name: string): string {
  return uuidsUnder(name)('')
}

/**
 * Returns a function for UUIDs of names with a common prefix: `uuidsUnder(a)(b)` is `uuidOf(a + b)`. The prefix is
 * hashed once, since each event of a stream has a UUID.
 */
export function uuidsUnder(prefix: string): (rest: string) => string {
  const prefixLanes = new HashLanes(3)
  prefixLanes.add(prefix)
  const lanes = new HashLanes(3)
  const digits = new Uint8Array(32)
  return (rest) => {
    lanes.restart(prefixLanes)
    lanes.add(rest)
    lanes.write(digits)
    return uuidOfDigits(digits)
  }
}

/** Computes `hashText` of a text with the links 1, 2, … in parallel. The text may arrive in parts. */
class HashLanes {
  readonly #high: Int32Array
  readonly #low: Int32Array

  constructor(count: number) {
    this.#high = Int32Array.from({ length: count }, (_, lane) => 0xdeadbeef ^ (lane + 1))
    this.#low = Int32Array.from({ length: count }, (_, lane) => 0x41c6ce57 ^ (lane + 1))
  }

  restart(from: HashLanes): void {
    this.#high.set(from.#high)
    this.#low.set(from.#low)
  }

  add(text: string): void {
    const [high, low] = [this.#high, this.#low]
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      for (let lane = 0; lane < high.length; lane++) {
        high[lane] = imul((high[lane] ?? 0) ^ unit, 2654435761)
        low[lane] = imul((low[lane] ?? 0) ^ unit, 1597334677)
      }
    }
  }

  /** Writes the hashes as 14 hexadecimal digits each, one after another, as far as there is room. */
  write(digits: Uint8Array): void {
    for (let lane = 0, at = 0; lane < this.#high.length; lane++) {
      let [high, low] = [this.#high[lane] ?? 0, this.#low[lane] ?? 0]
      high = imul(high ^ (high >>> 16), 2246822507) ^ imul(low ^ (low >>> 13), 3266489909)
      low = imul(low ^ (low >>> 16), 2246822507) ^ imul(high ^ (high >>> 13), 3266489909)
      for (let shift = 20; shift >= 0; shift -= 4) digits[at++] = ((2097151 & low) >>> shift) & 15
      for (let shift = 28; shift >= 0; shift -= 4) digits[at++] = (high >>> shift) & 15
    }
  }
}

/** The two hexadecimal digits of each byte, so that a text is assembled from existing strings. */
const pairs: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Formats these digits as a UUID: version 8, and the variant of the standard. */
function uuidOfDigits(digits: Uint8Array): string {
  digits[12] = 8
  digits[16] = ((digits[16] ?? 0) & 3) | 8
  const two = (at: number): string => pairs[((digits[at] ?? 0) << 4) | (digits[at + 1] ?? 0)] ?? ''
  const four = (at: number): string => two(at) + two(at + 2)
  return `${four(0)}${four(4)}-${four(8)}-${four(12)}-${four(16)}-${four(20)}${four(24)}${four(28)}`
}

/** Whether a text has the form of a UUID, whatever its version. */
export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
}
