import { isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { ContentBlock, JsonObject } from '@halting/core'
import { jsonCopyOf } from './json-copy.ts'
import type { ProviderOptions } from './language-model.ts'

/** Identifies blocks that came through the AI SDK. */
const api = 'ai_sdk'

/** `metadata` is the data that the provider expects back with the block: signatures, item ids, citations. */
export function originOf(provider: string, metadata: JsonObject | undefined): BlockOrigin {
  return metadata === undefined ? { api, provider } : { api, provider, metadata }
}

/** Merges metadata of a block's start, deltas and end; later values override earlier ones. */
export function mergeMetadata(before: JsonObject | undefined, received: unknown): JsonObject | undefined {
  const copy = jsonCopyOf(received)
  if (!isJsonObject(copy) || Object.keys(copy).length === 0) return before
  const merged: Record<string, JsonObject[string]> = { ...before }
  for (const [name, fields] of Object.entries(copy)) {
    const known = merged[name]
    merged[name] = isJsonObject(known) && isJsonObject(fields) ? { ...known, ...fields } : fields
  }
  return merged
}

/** Whether the block came from this provider. */
export function isFromProvider(provider: string, block: ContentBlock): boolean {
  const origin = originIn(block)
  return origin?.api === api && origin.provider === provider
}

/** Returns the options that the provider expects back with its own block. */
export function providerOptionsOf(block: ContentBlock): { readonly providerOptions?: ProviderOptions } {
  const metadata = originIn(block)?.metadata
  // The provider supplied it; the AI SDK types it as a record of JSON objects.
  return isJsonObject(metadata) ? { providerOptions: metadata as ProviderOptions } : {}
}

function originIn(block: ContentBlock): JsonObject | undefined {
  const origin: unknown = 'origin' in block ? block.origin : undefined
  return isJsonObject(origin) ? origin : undefined
}
