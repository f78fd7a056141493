import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, deflateRaw, inflateRawSync } from 'node:zlib'
import { HaltingError } from '@halting/core'

/** A long text as the engine stores it: plain or, if that is shorter, compressed (raw deflate) in base64. */
export type StoredText = string | { readonly deflated: string }

const compress = promisify(deflateRaw)

/** The fastest level: a text of 200 kB takes one millisecond (source code) to nine (incompressible data), in a thread of its own. */
export async function compressText(text: string): Promise<StoredText> {
  const deflated = (await compress(text, { level: constants.Z_BEST_SPEED })).toString('base64')
  return deflated.length < text.length ? { deflated } : text
}

function expandText(stored: StoredText): string {
  return typeof stored === 'string' ? stored : inflateRawSync(Buffer.from(stored.deflated, 'base64')).toString('utf8')
}

/** SHA-256 of a text in UTF-8, in hexadecimal. */
export function textHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Key under which an object stores a text. */
export function textKey(sha256: string): string {
  return `text/${sha256}`
}

/** The long texts of one session that the engine stores and this process has read. */
export class SessionTexts {
  readonly #texts = new Map<string, string>()

  /** Whether the engine is known to have this text. */
  has(sha256: string): boolean {
    return this.#texts.has(sha256)
  }

  /** Remembers a text that the engine has. A known text is not replaced. */
  add(sha256: string, stored: StoredText): void {
    if (!this.has(sha256)) this.#texts.set(sha256, expandText(stored))
  }

  /** @throws HaltingError `driver` for a text that is missing. */
  get(sha256: string): string {
    const text = this.#texts.get(sha256)
    if (text === undefined)
      throw new HaltingError(
        'driver',
        `A text of this session is missing: ${sha256}. Restore the engine's data from a back-up, or remove the session.`,
      )
    return text
  }
}
