import { createHash } from 'node:crypto'
import { HaltingError } from '@halting/core'
import type { PayloadReference } from './payload-store.ts'

/** Default of `inlineBytes`: longer texts are put into the store. */
export const defaultInlineBytes: number = 256 * 1024

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function referenceTo(content: Uint8Array): PayloadReference {
  return { type: 'payload', sha256: hashOf(content), bytes: content.byteLength }
}

/** @throws HaltingError `driver` for content that does not match the reference. */
export function verifiedText(content: Uint8Array, reference: PayloadReference, place: string): string {
  const { sha256, bytes } = reference
  if (content.byteLength !== bytes || hashOf(content) !== sha256)
    throw new HaltingError('driver', `${place} was changed: expected ${bytes} bytes with the SHA-256 ${sha256}.`)
  return new TextDecoder().decode(content)
}

/** Folder name for a session. It contains nothing that a file system or a bucket could misinterpret, and no two sessions share it. */
export function folderNameOf(sessionId: string): string {
  return /^[0-9a-z_-]{1,100}$/.test(sessionId) ? sessionId : `named.${hashOf(sessionId)}`
}
