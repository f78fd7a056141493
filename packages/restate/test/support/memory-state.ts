import type { PayloadReference, PayloadStore } from '../../src/payloads/payload-store.ts'
import { createHash } from 'node:crypto'

/** The state of an object, and how many bytes were read and written. */
export class MemoryState {
  readonly values = new Map<string, string>()
  readBytes = 0
  writtenBytes = 0

  copy(): MemoryState {
    const copy = new MemoryState()
    copy.take(this)
    return copy
  }

  /** A copy of another state. */
  take(other: MemoryState): void {
    this.values.clear()
    for (const [key, text] of other.values) this.values.set(key, text)
  }

  async get<T>(key: string): Promise<T | null> {
    const text = this.values.get(key)
    this.readBytes += text?.length ?? 0
    return text === undefined ? null : (JSON.parse(text) as T)
  }

  set(key: string, value: unknown): void {
    const text = JSON.stringify(value)
    this.writtenBytes += text.length
    this.values.set(key, text)
  }

  clear(key: string): void {
    this.values.delete(key)
  }

  async stateKeys(): Promise<readonly string[]> {
    const keys = [...this.values.keys()]
    this.readBytes += keys.join('').length
    return keys
  }
}

/** A payload store in memory. */
export class MemoryPayloads implements PayloadStore {
  readonly inlineBytes: number
  readonly texts = new Map<string, string>()

  constructor(inlineBytes: number) {
    this.inlineBytes = inlineBytes
  }

  async put(text: string): Promise<PayloadReference> {
    const sha256 = createHash('sha256').update(text).digest('hex')
    this.texts.set(sha256, text)
    return { type: 'payload', sha256, bytes: Buffer.byteLength(text) }
  }

  async get({ sha256 }: PayloadReference): Promise<string> {
    const text = this.texts.get(sha256)
    if (text === undefined) throw new Error(`${sha256} is not there.`)
    return text
  }

  async remove(): Promise<void> {
    this.texts.clear()
  }
}
