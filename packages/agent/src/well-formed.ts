import type { Json, JsonObject } from '@halting/core'

/** Half a character can be escaped in JSON, and no model's API takes it: one that was let in would have every later request refused. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\uFFFD')
}

/** The same for every text in JSON, which is not to be deep. */
export function wellFormedJson(value: JsonObject): JsonObject
export function wellFormedJson(value: Json): Json
export function wellFormedJson(value: Json): Json {
  if (typeof value === 'string') return wellFormed(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner: Json) => wellFormedJson(inner))
  const entries = Object.entries(value).map(([name, inner]: readonly [string, Json | undefined]) => [
    wellFormed(name),
    inner === undefined ? inner : wellFormedJson(inner),
  ])
  // True: each part is JSON.
  return Object.fromEntries(entries) as JsonObject
}
