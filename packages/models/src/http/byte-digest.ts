/** Tells streams of bytes apart, however they were cut into pieces: two 32-bit lanes (FNV-1a). Not for secrets. */
export class ByteDigest {
  #one = 0x811c9dc5
  #two = 0x9e3779b9
  #length = 0

  add(bytes: Uint8Array): void {
    let [one, two] = [this.#one, this.#two]
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index] ?? 0
      one = Math.imul(one ^ byte, 0x01000193)
      two = Math.imul(two ^ byte, 0x85ebca6b)
    }
    this.#one = one
    this.#two = two
    this.#length += bytes.length
  }

  toString(): string {
    return [this.#one, this.#two].map((lane) => (lane >>> 0).toString(36)).join('') + `.${this.#length}`
  }
}
