/** A value that JSON preserves. All step records consist of such values. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json | undefined }

/** True for a plain JSON object: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Converts any value to JSON, as a frozen copy. The result is that of `JSON.parse(JSON.stringify(value))`, but it never
 * throws.
 * A Date becomes its ISO text, a Map or a Set `{}`, NaN null; undefined and functions are left out, and null in a list.
 * Where JSON would throw, the copy has a text: the digits of a bigint, `[circular]`, `[unreadable]` for a getter or
 * `toJSON` that throws, `[too deep]` below 200 levels. A value without any JSON form is null.
 */
export function jsonOf(value: unknown): Json {
  return copyOf(value, []) ?? null
}

/** Works like `jsonOf` for a value that must be an object; anything else becomes `{}`. */
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

/** `within` are the enclosing objects. Getters, proxies and `toJSON` run untrusted code. */
function copyOfObject(value: object, within: object[]): Json | undefined {
  if (within.includes(value)) return '[circular]'
  if (within.length >= maxDepth) return '[too deep]'
  const depth = within.push(value)
  let copy: Json | undefined
  try {
    const source = 'toJSON' in value && typeof value.toJSON === 'function' ? (value.toJSON() as unknown) : value
    // `toJSON` is not called again on its own result, which may be the object itself.
    if (typeof source !== 'object' || source === null) copy = copyOf(source, within)
    else copy = Array.isArray(source) ? copyOfList(source, within) : copyOfParts(source, within)
  } catch {
    copy = '[unreadable]'
  }
  within.length = depth - 1
  return copy
}

function copyOfList(source: readonly unknown[], within: object[]): readonly Json[] {
  const copy: Json[] = []
  // Holes count as undefined, which is null in a JSON list.
  for (const part of source) copy.push(copyOf(part, within) ?? null)
  return Object.freeze(copy)
}

function copyOfParts(source: object, within: object[]): JsonObject {
  const copy: { [key: string]: Json } = {}
  for (const key of Object.keys(source)) copyPart(source, key, copy, within)
  return Object.freeze(copy)
}

function copyPart(source: object, key: string, copy: object, within: object[]): void {
  const part = partOf(source, key)
  const json = typeof part === 'string' ? part : copyOf(part, within)
  if (json !== undefined) setKey(copy, key, json)
}

/** Reads a field of an untrusted object, whose getter may throw. */
function partOf(source: object, key: string): unknown {
  try {
    // `key` is an own key.
    return (source as { readonly [key: string]: unknown })[key]
  } catch {
    return '[unreadable]'
  }
}

/** Copies one field of an untrusted object as JSON. A value without a JSON form is left out, as in `jsonOf`. */
export function putJson(target: object, source: object, key: string): void {
  copyPart(source, key, target, [])
}

/** Sets a key, even one such as `__proto__`, which JSON may contain. */
function setKey(copy: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true })
  // The object was created by this module, so any key may be set.
  else (copy as { [key: string]: unknown })[key] = value
}

/** A mutable copy of a JSON value. */
export function mutableCopyOf(value: Json | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(mutableCopyOf)
  const copy = {}
  // Neither null nor a list: a JSON object.
  const source = value as JsonObject
  for (const key of Object.keys(source)) setKey(copy, key, mutableCopyOf(source[key]))
  return copy
}

/** Freezes a JSON value recursively and returns it. Neither a run nor the code around it can then change what both share. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}

/**
 * Whether two values are the same JSON, regardless of the order of fields. It does not recurse, so values may be nested
 * to any depth.
 * @param mayContinue Called before so many parts are compared. If it returns false, the values count as different.
 */
export function isSameJson(one: unknown, other: unknown, mayContinue: (parts: number) => boolean = always): boolean {
  const pairs: (readonly [object, object])[] = []
  /** Whether two parts may still be equal. Parts that are objects or lists are compared later. */
  const maybeSame = (left: unknown, right: unknown): boolean => {
    if (left === right) return true
    if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
    pairs.push([left, right])
    return true
  }
  if (!maybeSame(one, other)) return false
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair
    if (Array.isArray(left) && Array.isArray(right)) {
      if (!mayContinue(1 + left.length) || left.length !== right.length) return false
      for (let index = 0; index < left.length; index++) if (!maybeSame(left[index], right[index])) return false
      continue
    }
    if (Array.isArray(left) || Array.isArray(right)) return false
    const names = Object.keys(left)
    const { length } = Object.keys(right)
    if (!mayContinue(1 + names.length + length) || names.length !== length) return false
    for (const name of names) {
      // Any object may have any field.
      if (!Object.hasOwn(right, name) || !maybeSame(Reflect.get(left, name), Reflect.get(right, name))) return false
    }
  }
  return true
}

const always = (): boolean => true
