import { createHash } from 'node:crypto'
import { HaltingError } from '@halting/core'
import type { PayloadReference } from './payload-store.ts'

/** Texts of more bytes than this are put into a store that says nothing else. */
export const defaultInlineBytes: number = 256 * 1024

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function referenceTo(content: Uint8Array): PayloadReference {
  return { type: 'payload', sha256: hashOf(content), bytes: content.byteLength }
}

/** @throws HaltingError `driver` for what is not what the reference is to. */
export function verifiedText(content: Uint8Array, reference: PayloadReference, place: string): string {
  const { sha256, bytes } = reference
  if (content.byteLength !== bytes || hashOf(content) !== sha256)
    throw new HaltingError('driver', `${place} is not what was put there: ${bytes} bytes with the SHA-256 ${sha256}.`)
  return new TextDecoder().decode(content)
}

/** The name of a session as that of a folder. It holds nothing that a file system or a bucket takes for something else, and no two sessions share it. */
export function folderNameOf(sessionId: string): string {
  return /^[0-9a-z_-]{1,100}$/.test(sessionId) ? sessionId : `named.${hashOf(sessionId)}`
}
