import { extname } from 'node:path'
import { imageFactsOf } from '@halting/core/adapters'

const imageExtensions: ReadonlySet<string> = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp'])

/**
 * Whether a file is an image, judged by its name or its bytes: with a wrong media type, the API refuses the whole
 * session.
 */
export function isImage(path: string, start: Uint8Array): boolean {
  return imageExtensions.has(extname(path).toLowerCase()) || imageFactsOf(start) !== undefined
}
