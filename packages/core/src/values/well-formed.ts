import { isJsonObject, type Json, type JsonObject } from './json.ts'

// Half of a surrogate pair can stand in a JavaScript string and be escaped in JSON, but no model service accepts it in a request.

/** The text with U+FFFD in place of each lone half of a surrogate pair. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

/** The same for every text in a JSON value, keys included. A value without a lone half is returned as it is. */
export function wellFormedJson(value: JsonObject): JsonObject
export function wellFormedJson(value: Json): Json
export function wellFormedJson(value: Json): Json {
  return isWellFormedJson(value) ? value : repaired(value)
}

/** True when no text in the value, and no key, has a lone half. */
export function isWellFormedJson(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormedJson)
  // Every message is looked through: no list of pairs is made for it.
  for (const key of Object.keys(value))
    if (!key.isWellFormed() || !isWellFormedJson((value as { readonly [key: string]: unknown })[key])) return false
  return true
}

function repaired(value: Json): Json {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map((part: Json) => wellFormedJson(part))
  if (!isJsonObject(value)) return value
  // `fromEntries` defines its keys: one named `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [wellFormed(key), part === undefined ? part : wellFormedJson(part)]),
  )
}

/** True when JSON text has an escape (`\ud83d`) of a lone half: the text itself may be pure ASCII. */
export function hasLoneEscape(text: string): boolean {
  if (!text.includes('\\')) return false
  // An escape at a time, so that `\\ud83d`, a backslash and a word, is not taken for one. A pair is read as one.
  const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F])[\da-fA-F]{2}|[^])/g
  for (const [, lone] of text.matchAll(escapes)) if (lone !== undefined) return true
  // Half an escape and half a character make no pair either.
  return false
}
