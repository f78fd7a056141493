import { imageFactsOf, type ImageFacts } from '@halting/core/adapters'

export const imageExtensions: ReadonlySet<string> = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp'])

/** What an image file is by its own bytes, whatever its name says: a wrong type makes the API refuse the whole session. */
export function imageTypeOf(bytes: Uint8Array): ImageFacts['type'] | undefined {
  return imageFactsOf(bytes)?.type
}
