// The Node globals that the package uses, for hosts that do not have them. `scripts/browser-bundle.mjs` injects them.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The part of Node's `Buffer` that the package uses. */
class HostBuffer extends Uint8Array {
  /** Writes as much of a text as fits; returns the number of bytes. */
  write(text: string, offset = 0): number {
    return encoder.encodeInto(text, this.subarray(offset)).written
  }

  override toString(encoding: 'utf8' | 'hex' | 'base64' | 'base64url' = 'utf8'): string {
    if (encoding === 'utf8') return decoder.decode(this)
    if (encoding === 'hex') return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('')
    const base64 = btoa(Array.from(this, (byte) => String.fromCodePoint(byte)).join(''))
    return encoding === 'base64' ? base64 : base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  }
}

function copyOf(bytes: Uint8Array): HostBuffer {
  const copy = new HostBuffer(bytes.length)
  copy.set(bytes)
  return copy
}

interface BufferFunctions {
  from(source: string | Uint8Array | ArrayBuffer, offset?: number, length?: number): HostBuffer
  alloc(length: number): HostBuffer
  allocUnsafeSlow(length: number): HostBuffer
  byteLength(text: string): number
  concat(parts: readonly Uint8Array[]): HostBuffer
}

export const Buffer: BufferFunctions = {
  from(source, offset = 0, length) {
    if (typeof source === 'string') return copyOf(encoder.encode(source))
    return source instanceof Uint8Array ? copyOf(source) : new HostBuffer(source, offset, length)
  },
  alloc: (length) => new HostBuffer(length),
  allocUnsafeSlow: (length) => new HostBuffer(length),
  byteLength: (text) => encoder.encode(text).length,
  concat(parts) {
    const whole = new HostBuffer(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  },
}

interface HostProcess {
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Some edge runtimes have Node's environment variables; browsers have none. */
export const process: HostProcess = { env: (globalThis as { process?: Partial<HostProcess> }).process?.env ?? {} }
