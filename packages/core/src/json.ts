/** What survives a trip through JSON unchanged. Everything that a step records is made of this. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

/** True for a plain object read from JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The JSON of any value, as a copy of its own: what `JSON.parse(JSON.stringify(value))` gives, but it never throws.
 * A Date becomes its ISO text, a Map or a Set `{}`, NaN null; undefined and functions are left out, and null in a list.
 * Where JSON would throw, a text stands: the digits of a bigint, `[circular]`, `[unreadable]` for a getter or `toJSON` that throws,
 * `[too deep]` below 200 levels. What has no JSON at all is null.
 */
export function jsonOf(value: unknown): Json {
  return copyOf(value, []) ?? null
}

/** The same for what has to be an object; anything else is `{}`. */
export function jsonObjectOf(value: unknown): JsonObject {
  const copy = jsonOf(value)
  return isJsonObject(copy) ? copy : {}
}

const maxDepth = 200

function copyOf(value: unknown, within: readonly object[]): Json | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : null
    case 'bigint':
      return value.toString()
    case 'object':
      if (value === null) return null
      if (within.includes(value)) return '[circular]'
      return within.length >= maxDepth ? '[too deep]' : readable(() => copyOfObject(value, [...within, value]))
    default:
      return undefined
  }
}

function copyOfObject(value: object, within: readonly object[]): Json | undefined {
  const source = 'toJSON' in value && typeof value.toJSON === 'function' ? (value.toJSON() as unknown) : value
  // What `toJSON` gives is not asked for its own again, and may be the object itself.
  return typeof source === 'object' && source !== null ? copyOfParts(source, within) : copyOf(source, within)
}

function copyOfParts(source: object, within: readonly object[]): Json | undefined {
  if (Array.isArray(source)) return Array.from(source, (part: unknown) => copyOf(part, within) ?? null)
  const parts: [string, Json][] = []
  for (const key of Object.keys(source)) {
    // `key` is one of its own.
    const part = readable(() => copyOf((source as { readonly [key: string]: unknown })[key], within))
    if (part !== undefined) parts.push([key, part])
  }
  // `fromEntries` defines: a key such as `__proto__`, which JSON may hold, stays a key.
  return Object.fromEntries(parts)
}

/** Getters, proxies and `toJSON` run code of others. */
function readable(read: () => Json | undefined): Json | undefined {
  try {
    return read()
  } catch {
    return '[unreadable]'
  }
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
