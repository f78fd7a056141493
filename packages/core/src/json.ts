/** What survives a trip through JSON unchanged. Everything that a step records is made of this. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

export type JsonObject = { readonly [key: string]: Json | undefined }

/** True for a plain object read from JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Freezes a value read from or meant for JSON, all the way down, and returns it.
 * What is shared between a run and the code around it cannot be changed under either.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
