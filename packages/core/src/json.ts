/** What survives a trip through JSON unchanged. Everything that a step records is made of this. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

/** True for a plain object read from JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The JSON of any value, as a frozen copy of its own: what `JSON.parse(JSON.stringify(value))` gives, but it never throws.
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

function copyOf(value: unknown, within: object[]): Json | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : null
    case 'bigint':
      return value.toString()
    case 'object':
      return value === null ? null : copyOfObject(value, within)
    default:
      return undefined
  }
}

/** `within` are the objects around it. Getters, proxies and `toJSON` run code of others. */
function copyOfObject(value: object, within: object[]): Json | undefined {
  if (within.includes(value)) return '[circular]'
  if (within.length >= maxDepth) return '[too deep]'
  const depth = within.push(value)
  try {
    const source = 'toJSON' in value && typeof value.toJSON === 'function' ? (value.toJSON() as unknown) : value
    // What `toJSON` gives is not asked for its own again, and may be the object itself.
    if (typeof source !== 'object' || source === null) return copyOf(source, within)
    return Array.isArray(source) ? copyOfList(source, within) : copyOfParts(source, within)
  } catch {
    return '[unreadable]'
  } finally {
    within.length = depth - 1
  }
}

function copyOfList(source: readonly unknown[], within: object[]): readonly Json[] {
  const copy: Json[] = []
  // Holes count as undefined, which a list holds as null.
  for (const part of source) copy.push(copyOf(part, within) ?? null)
  return Object.freeze(copy)
}

function copyOfParts(source: object, within: object[]): JsonObject {
  const copy: { [key: string]: Json } = {}
  for (const key of Object.keys(source)) {
    const part = copyOfPart(source, key, within)
    if (part === undefined) continue
    setKey(copy, key, part)
  }
  return Object.freeze(copy)
}

function copyOfPart(source: object, key: string, within: object[]): Json | undefined {
  const depth = within.length
  try {
    // `key` is one of its own.
    return copyOf((source as { readonly [key: string]: unknown })[key], within)
  } catch {
    within.length = depth
    return '[unreadable]'
  }
}

/** A key such as `__proto__`, which JSON may hold, stays a key. */
function setKey(copy: { [key: string]: unknown }, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true })
  else copy[key] = value
}

/** A copy of what is JSON already, for somebody who may change it. */
export function mutableCopyOf(value: Json | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(mutableCopyOf)
  const copy = {}
  for (const [key, part] of Object.entries(value)) setKey(copy, key, mutableCopyOf(part))
  return copy
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
