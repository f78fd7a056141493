import { isJsonObject, type Json, type JsonObject } from './json.ts'

// A JavaScript string can contain half of a surrogate pair, and JSON can escape it, but no model service accepts it in a request.

/** The text with U+FFFD in place of each lone surrogate. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

/** Works like `wellFormed` for every text in a JSON value, including keys. A value without lone surrogates is returned unchanged. */
export function wellFormedJson(value: JsonObject): JsonObject
export function wellFormedJson(value: Json): Json
export function wellFormedJson(value: Json): Json {
  return isWellFormedJson(value) ? value : repaired(value)
}

/** True when no text or key in the value has a lone surrogate. */
export function isWellFormedJson(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormedJson)
  // Every message is scanned, so no list of entries is allocated.
  for (const key of Object.keys(value))
    if (!key.isWellFormed() || !isWellFormedJson((value as { readonly [key: string]: unknown })[key])) return false
  return true
}

function repaired(value: Json): Json {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map((part: Json) => wellFormedJson(part))
  if (!isJsonObject(value)) return value
  // `fromEntries` defines its keys, so one named `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [wellFormed(key), part === undefined ? part : wellFormedJson(part)]),
  )
}

/** True when JSON text has an escape (`\ud83d`) of a lone surrogate: the text itself may be pure ASCII. */
export function hasLoneEscape(text: string): boolean {
  if (!text.includes('\\')) return false
  // Matches one escape at a time, so that `\\ud83d`, a backslash and a word, is not mistaken for an escape. A pair is matched as one escape.
  const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F])[\da-fA-F]{2}|[^])/g
  for (const [, lone] of text.matchAll(escapes)) if (lone !== undefined) return true
  // Half of an escape next to half of a character is not a pair either.
  return false
}
